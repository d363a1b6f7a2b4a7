// kfake in this process: each line on stdin asks for a clean cluster of one broker.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	orders := bufio.NewScanner(os.Stdin)
	for {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(cluster.ListenAddrs()[0])
		if !orders.Scan() {
			return
		}
		cluster.Close()
	}
}
