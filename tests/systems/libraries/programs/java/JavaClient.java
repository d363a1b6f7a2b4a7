import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's own client. The arguments are those of scenario.py. */
public class JavaClient {
    static void create(String servers, String topic) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            admin.createTopics(Set.of(new NewTopic(topic, 3, (short) 1))).all().get();
        }
    }

    static KafkaProducer<String, String> producer(Map<String, Object> settings) {
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static void produce(String servers, String topic, List<String> values) throws Exception {
        try (var producer = producer(Map.of("bootstrap.servers", servers))) {
            for (String value : values) {
                producer.send(new ProducerRecord<>(topic, value, value)).get();
            }
        }
    }

    static void consume(String servers, String topic, String group, int count) {
        Map<String, Object> settings =
            Map.of("bootstrap.servers", servers, "group.id", group, "auto.offset.reset", "earliest");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            for (int left = count; left > 0; ) {
                for (var record : consumer.poll(Duration.ofSeconds(60))) {
                    System.out.println("read " + record.value());
                    left--;
                }
            }
            consumer.commitSync();
        }
    }

    static void transact(String servers, String topic, String kept, String dropped) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "transactional.id", topic + "-writer");
        try (var producer = producer(settings)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, kept));
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, dropped)).get();
            producer.abortTransaction();
        }
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
    }
}
