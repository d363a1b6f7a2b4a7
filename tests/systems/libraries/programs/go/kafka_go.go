// kafka-go. The arguments are those of scenario.py.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/segmentio/kafka-go"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func create(servers, topic string) {
	client := &kafka.Client{Addr: kafka.TCP(servers)}
	answer, err := client.CreateTopics(context.Background(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 3, ReplicationFactor: 1}},
	})
	must(err)
	must(answer.Errors[topic])
}

func produce(servers, topic string, values []string) {
	writer := &kafka.Writer{Addr: kafka.TCP(servers), Topic: topic}
	messages := make([]kafka.Message, len(values))
	for at, value := range values {
		messages[at] = kafka.Message{Key: []byte(value), Value: []byte(value)}
	}
	must(writer.WriteMessages(context.Background(), messages...))
	must(writer.Close())
}

func consume(servers, topic, group string, count int) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{servers}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
	})
	for ; count > 0; count-- {
		message, err := reader.ReadMessage(context.Background()) // commits it
		must(err)
		fmt.Println("read", string(message.Value))
	}
	must(reader.Close())
}

func main() {
	verb, servers, topic, rest := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	switch verb {
	case "create":
		create(servers, topic)
	case "produce":
		produce(servers, topic, rest)
	case "consume":
		count, err := strconv.Atoi(rest[1])
		must(err)
		consume(servers, topic, rest[0], count)
	default:
		panic(verb)
	}
}
