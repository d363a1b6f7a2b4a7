import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.testcontainers.kafka.ConfluentKafkaContainer;
import org.testcontainers.kafka.KafkaContainer;

/**
 * Starts Kafka with Testcontainers' module for Java, writes a record from this machine, and prints what it reads.
 * Each argument is the name of an image of Apache's or Confluent's.
 */
public final class TestcontainersKafka {
    public static void main(String[] images) throws Exception {
        for (String image : images) {
            if (image.startsWith("confluentinc/")) {
                try (ConfluentKafkaContainer container = new ConfluentKafkaContainer(image)) {
                    container.start();
                    System.out.println(image + " " + copied(container.getBootstrapServers()));
                }
            } else {
                try (KafkaContainer container = new KafkaContainer(image)) {
                    container.start();
                    System.out.println(image + " " + copied(container.getBootstrapServers()));
                }
            }
        }
    }

    private static String copied(String servers) throws Exception {
        Map<String, Object> writes = Map.of("bootstrap.servers", servers);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(writes, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("orders", "from a module")).get();
        }
        Map<String, Object> reads =
                Map.of("bootstrap.servers", servers, "group.id", "g", "auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(reads, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("orders"));
            while (true) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    return record.value();
                }
            }
        }
    }
}
