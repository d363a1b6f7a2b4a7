// watermill-kafka. The arguments are those of scenario.py.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
)

// Twice sarama's interval.
const autoCommit = 2 * time.Second

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func produce(servers, topic string, values []string) {
	publisher, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: []string{servers}, Marshaler: kafka.DefaultMarshaler{},
	}, watermill.NopLogger{})
	must(err)
	for _, value := range values {
		must(publisher.Publish(topic, message.NewMessage(watermill.NewUUID(), []byte(value))))
	}
	must(publisher.Close())
}

func consume(servers, topic, group string, count int) {
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = -2 // the oldest offset
	subscriber, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: []string{servers}, Unmarshaler: kafka.DefaultMarshaler{},
		ConsumerGroup: group, OverwriteSaramaConfig: config,
	}, watermill.NopLogger{})
	must(err)
	messages, err := subscriber.Subscribe(context.Background(), topic)
	must(err)
	for ; count > 0; count-- {
		one := <-messages
		fmt.Println("read", string(one.Payload))
		one.Ack()
	}
	time.Sleep(autoCommit) // an acknowledged message is marked, and committed some time after
	must(subscriber.Close())
}

func main() {
	verb, servers, topic, rest := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	switch verb {
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
