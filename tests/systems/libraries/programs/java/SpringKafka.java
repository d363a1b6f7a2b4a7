import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;

/** Spring Kafka's template and listener container. The arguments are those of scenario.py. */
public class SpringKafka {
    static void create(String servers, String topic) {
        new KafkaAdmin(Map.of("bootstrap.servers", servers)).createOrModifyTopics(new NewTopic(topic, 3, (short) 1));
    }

    static DefaultKafkaProducerFactory<String, String> factory(String servers) {
        return new DefaultKafkaProducerFactory<>(
            Map.of("bootstrap.servers", servers), new StringSerializer(), new StringSerializer());
    }

    static void produce(String servers, String topic, List<String> values) throws Exception {
        var factory = factory(servers);
        var template = new KafkaTemplate<>(factory);
        for (String value : values) {
            template.send(topic, value, value).get();
        }
        factory.destroy();
    }

    static void consume(String servers, String topic, String group, int count) throws Exception {
        var factory = new DefaultKafkaConsumerFactory<>(
            Map.of("bootstrap.servers", servers, "auto.offset.reset", "earliest"),
            new StringDeserializer(), new StringDeserializer());
        var left = new CountDownLatch(count);
        var properties = new ContainerProperties(topic);
        properties.setGroupId(group);
        properties.setMessageListener((MessageListener<String, String>) record -> {
            System.out.println("read " + record.value());
            left.countDown();
        });
        var container = new KafkaMessageListenerContainer<>(factory, properties);
        container.start();
        left.await();
        container.stop();
    }

    static void transact(String servers, String topic, String kept, String dropped) {
        var factory = factory(servers);
        factory.setTransactionIdPrefix(topic + "-writer-");
        var template = new KafkaTemplate<>(factory);
        template.executeInTransaction(operations -> operations.send(topic, kept));
        try {
            template.executeInTransaction(operations -> {
                operations.send(topic, dropped).join();
                throw new UnsupportedOperationException("aborts");
            });
        } catch (UnsupportedOperationException error) {
            factory.destroy();
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
        System.exit(0);
    }
}
