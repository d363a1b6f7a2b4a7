// sarama. The arguments are those of scenario.py.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/IBM/sarama"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func create(servers, topic string) {
	admin, err := sarama.NewClusterAdmin([]string{servers}, sarama.NewConfig())
	must(err)
	must(admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false))
	must(admin.Close())
}

func produce(servers, topic string, values []string) {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true // the sync producer needs it
	producer, err := sarama.NewSyncProducer([]string{servers}, config)
	must(err)
	for _, value := range values {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{
			Topic: topic, Key: sarama.StringEncoder(value), Value: sarama.StringEncoder(value),
		})
		must(err)
	}
	must(producer.Close())
}

type handler struct {
	left   int
	cancel context.CancelFunc
}

func (*handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message := <-claim.Messages():
			if message == nil {
				return nil
			}
			lock <- struct{}{}
			fmt.Println("read", string(message.Value))
			session.MarkMessage(message, "")
			h.left--
			if h.left == 0 {
				session.Commit()
				h.cancel()
			}
			<-lock
		case <-session.Context().Done():
			return nil
		}
	}
}

// Claims of several partitions are consumed by goroutines at once.
var lock = make(chan struct{}, 1)

func consume(servers, topic, group string, count int) {
	config := sarama.NewConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	consumer, err := sarama.NewConsumerGroup([]string{servers}, group, config)
	must(err)
	ctx, cancel := context.WithCancel(context.Background())
	for ctx.Err() == nil {
		must(consumer.Consume(ctx, []string{topic}, &handler{count, cancel}))
	}
	must(consumer.Close())
}

func transact(servers, topic, kept, dropped string) {
	config := sarama.NewConfig()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Transaction.ID = topic + "-writer"
	config.Net.MaxOpenRequests = 1 // the client refuses idempotence with more
	producer, err := sarama.NewSyncProducer([]string{servers}, config)
	must(err)
	must(producer.BeginTxn())
	_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(kept)})
	must(err)
	must(producer.CommitTxn())
	must(producer.BeginTxn())
	_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(dropped)})
	must(err)
	must(producer.AbortTxn())
	must(producer.Close())
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
