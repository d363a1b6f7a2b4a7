// franz-go, with its package for admins. The arguments are those of scenario.py.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func client(servers string, options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append(options, kgo.SeedBrokers(servers))...)
	must(err)
	return made
}

func create(servers, topic string) {
	admin := kadm.NewClient(client(servers))
	answer, err := admin.CreateTopic(context.Background(), 3, 1, nil, topic)
	must(err)
	must(answer.Err)
	admin.Close()
}

func produce(servers, topic string, values []string) {
	writer := client(servers)
	for _, value := range values {
		record := &kgo.Record{Topic: topic, Key: []byte(value), Value: []byte(value)}
		must(writer.ProduceSync(context.Background(), record).FirstErr())
	}
	writer.Close()
}

func consume(servers, topic, group string, count int) {
	reader := client(servers, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic))
	for count > 0 {
		fetches := reader.PollFetches(context.Background())
		must(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			fmt.Println("read", string(record.Value))
			count--
		})
	}
	must(reader.CommitUncommittedOffsets(context.Background()))
	reader.Close()
}

func transact(servers, topic, kept, dropped string) {
	writer := client(servers, kgo.TransactionalID(topic+"-writer"))
	ctx := context.Background()
	must(writer.BeginTransaction())
	must(writer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(kept)}).FirstErr())
	must(writer.EndTransaction(ctx, kgo.TryCommit))
	must(writer.BeginTransaction())
	must(writer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(dropped)}).FirstErr())
	must(writer.EndTransaction(ctx, kgo.TryAbort))
	writer.Close()
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
