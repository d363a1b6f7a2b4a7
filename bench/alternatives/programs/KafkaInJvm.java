import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.kafka.common.test.KafkaClusterTestKit;
import org.apache.kafka.common.test.TestKitNodes;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

/**
 * A Kafka in this JVM: Spring's EmbeddedKafka ("spring") or Kafka's own KafkaClusterTestKit ("testkit"). Each line on
 * stdin asks for a clean one: the old one is closed, and a new one is started.
 */
public final class KafkaInJvm {
    record Running(String address, AutoCloseable broker) implements AutoCloseable {
        @Override
        public void close() throws Exception {
            broker.close();
        }
    }

    static Running spring() {
        var broker = new EmbeddedKafkaKraftBroker(1, 1);
        broker.afterPropertiesSet();
        return new Running(broker.getBrokersAsString(), broker::destroy);
    }

    static Running testkit() throws Exception {
        var nodes = new TestKitNodes.Builder().setCombined(true).setNumBrokerNodes(1).setNumControllerNodes(1).build();
        var cluster = new KafkaClusterTestKit.Builder(nodes)
                .setConfigProp("offsets.topic.replication.factor", "1")
                .setConfigProp("group.initial.rebalance.delay.ms", "0")
                .build();
        cluster.format();
        cluster.startup();
        cluster.waitForReadyBrokers();
        return new Running(cluster.bootstrapServers(), cluster);
    }

    public static void main(String[] arguments) throws Exception {
        var orders = new BufferedReader(new InputStreamReader(System.in));
        var answers = System.out;
        System.setOut(System.err); // formatting prints lines of its own
        boolean goesOn = true;
        while (goesOn) {
            try (var running = arguments[0].equals("spring") ? spring() : testkit()) {
                answers.println(running.address());
                goesOn = orders.readLine() != null;
            }
        }
        System.exit(0);
    }
}
