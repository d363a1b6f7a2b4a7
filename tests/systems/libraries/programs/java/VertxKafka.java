import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.kafka.admin.KafkaAdminClient;
import io.vertx.kafka.admin.NewTopic;
import io.vertx.kafka.client.consumer.KafkaConsumer;
import io.vertx.kafka.client.producer.KafkaProducer;
import io.vertx.kafka.client.producer.KafkaProducerRecord;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** vertx-kafka-client. The arguments are those of scenario.py. */
public class VertxKafka {
    static final Vertx VERTX = Vertx.vertx();

    static <T> T wait(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get();
    }

    static void create(String servers, String topic) throws Exception {
        var admin = KafkaAdminClient.create(VERTX, Map.of("bootstrap.servers", servers));
        wait(admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1))));
        wait(admin.close());
    }

    static KafkaProducer<String, String> producer(Map<String, String> settings) {
        return KafkaProducer.create(VERTX, settings, String.class, String.class);
    }

    static void produce(String servers, String topic, List<String> values) throws Exception {
        var producer = producer(Map.of(
            "bootstrap.servers", servers,
            "key.serializer", "org.apache.kafka.common.serialization.StringSerializer",
            "value.serializer", "org.apache.kafka.common.serialization.StringSerializer"));
        for (String value : values) {
            wait(producer.send(KafkaProducerRecord.create(topic, value, value)));
        }
        wait(producer.close());
    }

    static void consume(String servers, String topic, String group, int count) throws Exception {
        Map<String, String> settings = Map.of(
            "bootstrap.servers", servers, "group.id", group, "auto.offset.reset", "earliest",
            "key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer",
            "value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        KafkaConsumer<String, String> consumer = KafkaConsumer.create(VERTX, settings);
        var left = new CountDownLatch(count);
        consumer.handler(record -> {
            System.out.println("read " + record.value());
            left.countDown();
        });
        wait(consumer.subscribe(topic));
        left.await();
        wait(consumer.commit());
        wait(consumer.close());
    }

    static void transact(String servers, String topic, String kept, String dropped) throws Exception {
        var producer = producer(Map.of(
            "bootstrap.servers", servers, "transactional.id", topic + "-writer",
            "key.serializer", "org.apache.kafka.common.serialization.StringSerializer",
            "value.serializer", "org.apache.kafka.common.serialization.StringSerializer"));
        wait(producer.initTransactions());
        wait(producer.beginTransaction());
        wait(producer.send(KafkaProducerRecord.create(topic, kept)));
        wait(producer.commitTransaction());
        wait(producer.beginTransaction());
        wait(producer.send(KafkaProducerRecord.create(topic, dropped)));
        wait(producer.abortTransaction());
        wait(producer.close());
    }

    public static void main(String[] arguments) throws Exception {
        List<String> given = List.of(arguments);
        String servers = given.get(1);
        String topic = given.get(2);
        List<String> rest = given.subList(3, given.size());
        switch (given.get(0)) {
            case "create" -> create(servers, topic);
            case "produce" -> produce(servers, topic, rest);
            case "consume" -> consume(servers, topic, rest.get(0), Integer.parseInt(rest.get(1)));
            case "transact" -> transact(servers, topic, rest.get(0), rest.get(1));
            default -> throw new IllegalArgumentException(given.get(0));
        }
        wait(VERTX.close());
    }
}
