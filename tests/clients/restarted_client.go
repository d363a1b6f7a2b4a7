// franz-go: a client that goes on over restarts (restarted_programs.py, which has the lines that it reads and writes).
// The arguments: bootstrap servers, kind of client.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const in, out, group = "in", "out", "restart-group"

var (
	kind   string
	orders = bufio.NewScanner(os.Stdin)
	ctx    = context.Background()
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ask(question string) {
	fmt.Println(question)
	orders.Scan()
}

func options(servers string) []kgo.Opt {
	made := []kgo.Opt{kgo.SeedBrokers(servers), kgo.DefaultProduceTopic(out)}
	switch {
	case kind == "plain producer":
		made = append(made, kgo.DisableIdempotentWrite())
	case kind == "transactions" || strings.HasPrefix(kind, "copies"):
		made = append(made, kgo.TransactionalID("restart-go"))
	case kind == "share group":
		made = append(made, kgo.ShareGroup(group), kgo.ConsumeTopics(in))
	}
	if strings.HasSuffix(kind, "classic group") || strings.HasSuffix(kind, "consumer group") {
		start := kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())
		made = append(made, kgo.ConsumerGroup(group), kgo.ConsumeTopics(in), kgo.DisableAutoCommit(), start)
	}
	if strings.HasSuffix(kind, "consumer group") {
		made = append(made, kgo.ServerSideBalancer())
	}
	return made
}

// isRecreated says that a topic exists anew, with another id. franz-go stays with the former one until it is purged.
func isRecreated(err error) bool {
	return errors.Is(err, kerr.UnknownTopicID)
}

// polled says whether one poll has the number.
func polled(client *kgo.Client, number string) bool {
	limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	found := false
	fetches := client.PollFetches(limited)
	fetches.EachRecord(func(record *kgo.Record) { found = found || string(record.Value) == number })
	for _, failed := range fetches.Errors() {
		if isRecreated(failed.Err) {
			client.PurgeTopicsFromClient(in)
			client.AddConsumeTopics(in)
		}
	}
	return found
}

func write(client *kgo.Client, number string) {
	sent := make(chan error, 1)
	produce := func() {
		client.Produce(ctx, kgo.StringRecord(number), func(_ *kgo.Record, err error) { sent <- err })
	}
	produce()
	ask("middle")
	err := <-sent
	if isRecreated(err) {
		client.PurgeTopicsFromClient(out)
		produce()
		err = <-sent
	}
	must(err)
}

// transact aborts and begins again after an error. If the broker has not answered whether it has committed, franz-go lets
// the transaction only be aborted, so the number may be there twice.
func transact(client *kgo.Client, number string) {
	for ended, first := false, true; !ended; first = false {
		must(client.BeginTransaction())
		client.Produce(ctx, kgo.StringRecord(number), nil)
		if first {
			ask("middle")
		}
		err := client.Flush(ctx)
		if err == nil {
			err = client.EndTransaction(ctx, kgo.TryCommit)
		}
		ended = err == nil
		for err != nil {
			err = client.EndTransaction(ctx, kgo.TryAbort)
		}
	}
}

// copied reads the number again if its transaction was aborted: a session goes back to what is committed.
func copied(session *kgo.GroupTransactSession, number string) {
	ask("write")
	for ended, first := false, true; !ended; first = false {
		for !polled(session.Client(), number) {
		}
		must(session.Begin())
		session.Produce(ctx, kgo.StringRecord(number), nil)
		if first {
			ask("middle")
		}
		committed, err := session.End(ctx, kgo.TryCommit)
		must(err)
		ended = committed
	}
}

func read(client *kgo.Client, number string) {
	ask("middle")
	ask("write")
	for !polled(client, number) {
	}
	for client.CommitUncommittedOffsets(ctx) != nil { // it joins again by itself
	}
}

// accept writes numbers until one comes: a share group begins at the end.
func accept(client *kgo.Client, number string) {
	ask("middle")
	for found := false; !found; found = polled(client, number) {
		ask("write")
	}
}

func main() {
	kind = os.Args[2]
	var act func(number string)
	var end func()
	if strings.HasPrefix(kind, "copies") {
		session, err := kgo.NewGroupTransactSession(append(options(os.Args[1]), kgo.RequireStableFetchOffsets())...)
		must(err)
		act, end = func(number string) { copied(session, number) }, session.Close
	} else {
		client, err := kgo.NewClient(options(os.Args[1])...)
		must(err)
		kinds := map[string]func(*kgo.Client, string){"transactions": transact, "share group": accept}
		kinds["plain producer"], kinds["idempotent producer"] = write, write
		kinds["classic group"], kinds["consumer group"] = read, read
		act, end = func(number string) { kinds[kind](client, number) }, client.Close
	}
	fmt.Println("ready")
	for orders.Scan() {
		act(orders.Text())
		fmt.Println("done")
	}
	end()
}
