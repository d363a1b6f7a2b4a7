import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.kafka.CommitterSettings;
import org.apache.pekko.kafka.ConsumerSettings;
import org.apache.pekko.kafka.ProducerSettings;
import org.apache.pekko.kafka.Subscriptions;
import org.apache.pekko.kafka.javadsl.Committer;
import org.apache.pekko.kafka.javadsl.Consumer;
import org.apache.pekko.kafka.javadsl.Producer;
import org.apache.pekko.stream.javadsl.Source;

/** pekko-connectors-kafka. The arguments are those of scenario.py. */
public class PekkoConnectors {
    static final ActorSystem SYSTEM = ActorSystem.create("scenario");

    static void produce(String servers, String topic, List<String> values) throws Exception {
        var settings = ProducerSettings.create(SYSTEM, new StringSerializer(), new StringSerializer())
            .withBootstrapServers(servers);
        Source.from(values)
            .map(value -> new ProducerRecord<String, String>(topic, value, value))
            .runWith(Producer.plainSink(settings), SYSTEM)
            .toCompletableFuture().get();
    }

    static void consume(String servers, String topic, String group, int count) throws Exception {
        var settings = ConsumerSettings.create(SYSTEM, new StringDeserializer(), new StringDeserializer())
            .withBootstrapServers(servers).withGroupId(group).withProperty("auto.offset.reset", "earliest");
        var left = new CountDownLatch(count);
        var control = Consumer.committableSource(settings, Subscriptions.topics(topic))
            .map(message -> {
                System.out.println("read " + message.record().value());
                left.countDown();
                return message.committableOffset();
            })
            .toMat(Committer.sink(CommitterSettings.create(SYSTEM)), Consumer::createDrainingControl)
            .run(SYSTEM);
        left.await();
        control.drainAndShutdown(SYSTEM.dispatcher()).toCompletableFuture().get();
    }

    public static void main(String[] arguments) throws Exception {
        List<String> given = List.of(arguments);
        String servers = given.get(1);
        String topic = given.get(2);
        List<String> rest = given.subList(3, given.size());
        switch (given.get(0)) {
            case "produce" -> produce(servers, topic, rest);
            case "consume" -> consume(servers, topic, rest.get(0), Integer.parseInt(rest.get(1)));
            default -> throw new IllegalArgumentException(given.get(0));
        }
        System.exit(0);
    }
}
