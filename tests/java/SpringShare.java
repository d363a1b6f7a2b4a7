import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ShareKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.kafka.core.ShareConsumerFactory;
import org.springframework.kafka.listener.AcknowledgingShareConsumerAwareMessageListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.ShareAckMode;
import org.springframework.kafka.listener.ShareConsumerRecordRecoverer;
import org.springframework.kafka.listener.ShareKafkaMessageListenerContainer;
import org.springframework.kafka.support.ShareAcknowledgment;

/**
 * Share groups of Spring Kafka. The group of each listener has its name, and reads the topic "work", whose values are
 * numbers. Prints a line for each record that a listener gets: group, value, delivery count, what it does with it. Prints
 * "members" and their number once the group "implicit" has all. SIGTERM ends it. Argument: bootstrap servers.
 */
@Configuration
@EnableKafka
public class SpringShare {
    private static final int CONCURRENCY = 3;
    private static String servers;

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(SpringShare.class);
        context.registerShutdownHook();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            while (members(admin) != CONCURRENCY) {
                Thread.sleep(100);
            }
        }
        System.out.println("members " + CONCURRENCY);
    }

    private static int members(Admin admin) throws Exception {
        return admin.describeShareGroups(List.of("implicit")).all().get().get("implicit").members().size();
    }

    /** The listener returns, which acknowledges the record. */
    @KafkaListener(topics = "work", groupId = "implicit", containerFactory = "implicit")
    void take(ConsumerRecord<String, String> record) {
        print("implicit", record, "accept");
    }

    /** Decides what becomes of each record. What was released comes again. */
    @KafkaListener(topics = "work", groupId = "manual", containerFactory = "manual")
    void decide(ConsumerRecord<String, String> record, ShareAcknowledgment acknowledgment) {
        boolean first = record.deliveryCount().orElseThrow() == 1;
        switch (Integer.parseInt(record.value()) % 4) {
            case 0 -> {
                print("manual", record, first ? "release" : "accept");
                if (first) {
                    acknowledgment.release();
                } else {
                    acknowledgment.acknowledge();
                }
            }
            case 1 -> {
                print("manual", record, "reject");
                acknowledgment.reject();
            }
            case 2 -> {
                print("manual", record, "renew");
                acknowledgment.renew();
                acknowledgment.acknowledge();
            }
            default -> {
                print("manual", record, "accept");
                acknowledgment.acknowledge();
            }
        }
    }

    /** Fails for some records when they come first. The recoverer releases them. */
    @KafkaListener(topics = "work", groupId = "failing", containerFactory = "failing")
    void fail(ConsumerRecord<String, String> record) {
        if (Integer.parseInt(record.value()) % 5 == 0 && record.deliveryCount().orElseThrow() == 1) {
            print("failing", record, "fail");
            throw new IllegalStateException("as asked: " + record.value());
        }
        print("failing", record, "accept");
    }

    @Bean
    ShareConsumerFactory<String, String> consumers() {
        Map<String, Object> keys = Map.of("bootstrap.servers", servers);
        return new DefaultShareConsumerFactory<>(keys, new StringDeserializer(), new StringDeserializer(), false);
    }

    @Bean
    ShareKafkaListenerContainerFactory<String, String> implicit(ShareConsumerFactory<String, String> consumers) {
        return containers(consumers, ShareAckMode.IMPLICIT, CONCURRENCY);
    }

    @Bean
    ShareKafkaListenerContainerFactory<String, String> manual(ShareConsumerFactory<String, String> consumers) {
        return containers(consumers, ShareAckMode.MANUAL, 1);
    }

    @Bean
    ShareKafkaListenerContainerFactory<String, String> failing(ShareConsumerFactory<String, String> consumers) {
        ShareKafkaListenerContainerFactory<String, String> made = containers(consumers, ShareAckMode.EXPLICIT, 1);
        made.setShareConsumerRecordRecoverer(ShareConsumerRecordRecoverer.RELEASING);
        return made;
    }

    /** A container without an annotation. */
    @Bean
    ShareKafkaMessageListenerContainer<String, String> container(ShareConsumerFactory<String, String> consumers) {
        ContainerProperties properties = new ContainerProperties("work");
        properties.setGroupId("container");
        properties.setShareAckMode(ShareAckMode.MANUAL);
        properties.setMessageListener(new AcknowledgingShareConsumerAwareMessageListener<String, String>() {
            @Override
            public void onShareRecord(
                ConsumerRecord<String, String> record, ShareAcknowledgment acknowledgment, ShareConsumer<?, ?> consumer
            ) {
                print("container", record, "accept");
                acknowledgment.acknowledge();
            }
        });
        ShareKafkaMessageListenerContainer<String, String> made =
            new ShareKafkaMessageListenerContainer<>(consumers, properties);
        made.setConcurrency(2);
        return made;
    }

    private static ShareKafkaListenerContainerFactory<String, String> containers(
        ShareConsumerFactory<String, String> consumers, ShareAckMode mode, int concurrency
    ) {
        ShareKafkaListenerContainerFactory<String, String> made = new ShareKafkaListenerContainerFactory<>(consumers);
        made.getContainerProperties().setShareAckMode(mode);
        made.setConcurrency(concurrency);
        return made;
    }

    private static void print(String group, ConsumerRecord<String, String> record, String done) {
        System.out.println(group + " " + record.value() + " " + record.deliveryCount().orElseThrow() + " " + done);
    }
}
