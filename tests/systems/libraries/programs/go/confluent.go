// confluent-kafka-go, with the librdkafka that it brings. The arguments are those of scenario.py.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func create(servers, topic string) {
	admin, err := kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": servers})
	must(err)
	results, err := admin.CreateTopics(context.Background(), []kafka.TopicSpecification{
		{Topic: topic, NumPartitions: 3, ReplicationFactor: 1},
	})
	must(err)
	if results[0].Error.Code() != kafka.ErrNoError {
		panic(results[0].Error)
	}
	admin.Close()
}

func send(producer *kafka.Producer, topic, key, value string) {
	delivered := make(chan kafka.Event, 1)
	must(producer.Produce(&kafka.Message{
		TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
		Key:            []byte(key), Value: []byte(value),
	}, delivered))
	must((<-delivered).(*kafka.Message).TopicPartition.Error)
}

func produce(servers, topic string, values []string) {
	producer, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": servers})
	must(err)
	for _, value := range values {
		send(producer, topic, value, value)
	}
	producer.Close()
}

func consume(servers, topic, group string, count int) {
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest",
	})
	must(err)
	must(consumer.Subscribe(topic, nil))
	for ; count > 0; count-- {
		message, err := consumer.ReadMessage(-1)
		must(err)
		fmt.Println("read", string(message.Value))
	}
	_, err = consumer.Commit()
	must(err)
	must(consumer.Close())
}

func transact(servers, topic, kept, dropped string) {
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": servers, "transactional.id": topic + "-writer",
	})
	must(err)
	ctx := context.Background()
	must(producer.InitTransactions(ctx))
	must(producer.BeginTransaction())
	send(producer, topic, kept, kept)
	must(producer.CommitTransaction(ctx))
	must(producer.BeginTransaction())
	send(producer, topic, dropped, dropped)
	must(producer.AbortTransaction(ctx))
	producer.Close()
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
	case "transact":
		transact(servers, topic, rest[0], rest[1])
	default:
		panic(verb)
	}
}
