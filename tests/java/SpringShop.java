import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.EnableKafkaRetryTopic;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.TopicBuilder;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaOperations;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.listener.AfterRollbackProcessor;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultAfterRollbackProcessor;
import org.springframework.kafka.retrytopic.TopicSuffixingStrategy;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.util.backoff.FixedBackOff;

/**
 * A shop of Spring Boot. KafkaAdmin creates its topics. Orders become bills, each in a transaction with its offset; an
 * order that fails three times goes to "orders-dlt". A delivery that fails goes through two retry topics to
 * "deliveries-dlt". Prints what it does as lines that start with "> ", and ends when all is done. Arguments: settings.
 */
@Configuration
@EnableAutoConfiguration
@EnableKafkaRetryTopic
public class SpringShop {
    private static final int ORDERS = 21;
    private static final int DELIVERIES = 6;
    private static final CountDownLatch remaining = new CountDownLatch(ORDERS + DELIVERIES);

    public static void main(String[] arguments) throws Exception {
        try (ConfigurableApplicationContext context = SpringApplication.run(SpringShop.class, arguments)) {
            describe(context.getBean(KafkaAdmin.class));
            context.getBean(Staff.class).order();
            remaining.await();
        }
        System.out.println("> closed");
    }

    private static void describe(KafkaAdmin admin) {
        String[] names = {"orders", "bills", "orders-dlt", "deliveries", "deliveries-retry-0", "deliveries-retry-1"};
        Map<String, TopicDescription> found = new TreeMap<>(admin.describeTopics(names));
        found.forEach((name, topic) -> print("topic", name + " with " + topic.partitions().size() + " partitions"));
    }

    @Bean
    NewTopic orders() {
        return TopicBuilder.name("orders").partitions(3).replicas(1).config("retention.ms", "86400000").build();
    }

    /** Two topics of one bean; the second one with the broker's default number of partitions. */
    @Bean
    KafkaAdmin.NewTopics others() {
        return new KafkaAdmin.NewTopics(
            TopicBuilder.name("bills").partitions(3).compact().build(), TopicBuilder.name("deliveries").build()
        );
    }

    @Bean
    NewTopic dead() {
        return TopicBuilder.name("orders-dlt").partitions(3).replicas(1).build();
    }

    /** Retries at once. The dead order and its offset are one transaction. */
    @Bean
    AfterRollbackProcessor<Object, Object> afterRollback(
        @Qualifier("kafkaTemplate") KafkaTemplate<Object, Object> template
    ) {
        DeadLetterPublishingRecoverer dead = new DeadLetterPublishingRecoverer(template);
        return new DefaultAfterRollbackProcessor<>(dead, new FixedBackOff(0, 2), template, true);
    }

    @Bean
    KafkaOperations<String, String> plain(ProducerFactory<Object, Object> producers) {
        Map<String, Object> settings = new TreeMap<>(producers.getConfigurationProperties());
        return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(settings));
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<Object, Object> withoutTransactions(
        ConsumerFactory<Object, Object> consumers
    ) {
        ConcurrentKafkaListenerContainerFactory<Object, Object> made = new ConcurrentKafkaListenerContainerFactory<>();
        made.setConsumerFactory(consumers);
        return made;
    }

    @Bean
    Staff staff(@Qualifier("kafkaTemplate") KafkaTemplate<Object, Object> template) {
        return new Staff(template);
    }

    @Bean
    ThreadPoolTaskScheduler scheduler() {
        return new ThreadPoolTaskScheduler();
    }

    /** Who orders, and the listeners. */
    static final class Staff {
        private final KafkaTemplate<Object, Object> template;

        Staff(KafkaTemplate<Object, Object> template) {
            this.template = template;
        }

        /** All orders in a transaction, after one that is aborted. */
        void order() {
            try {
                template.executeInTransaction(operations -> {
                    operations.send("orders", 0, "never", "never");
                    operations.flush();
                    throw new IllegalStateException("as asked");
                });
            } catch (IllegalStateException error) {
                print("aborted", error.getMessage());
            }
            template.executeInTransaction(operations -> {
                for (int number = 1; number <= ORDERS; number++) {
                    operations.send("orders", number % 3, "customer-" + number % 5, String.valueOf(number));
                }
                for (int number = 1; number <= DELIVERIES; number++) {
                    operations.send("deliveries", 0, "street-" + number, String.valueOf(number));
                }
                return null;
            });
        }

        /** Writes the bill, and then fails for every seventh order, so that the bill is aborted. */
        @KafkaListener(id = "till", topics = "orders")
        void bill(ConsumerRecord<String, String> order) {
            print("till", at(order));
            template.send("bills", order.partition(), order.key(), "bill for " + order.value());
            if (Integer.parseInt(order.value()) % 7 == 0) {
                template.flush();
                throw new IllegalArgumentException("no bill for " + order.value());
            }
        }

        @KafkaListener(id = "clerk", topics = "bills", containerFactory = "withoutTransactions", concurrency = "2")
        void file(ConsumerRecord<String, String> bill) {
            print("clerk", at(bill));
            remaining.countDown();
        }

        @KafkaListener(id = "complaints", topics = "orders-dlt", containerFactory = "withoutTransactions")
        void complain(ConsumerRecord<String, String> order) {
            print("complaints", at(order));
            remaining.countDown();
        }

        /** Every second delivery fails once, every third one always. */
        @RetryableTopic(
            attempts = "3",
            backOff = @BackOff(delay = 100, multiplier = 2),
            kafkaTemplate = "plain",
            topicSuffixingStrategy = TopicSuffixingStrategy.SUFFIX_WITH_INDEX_VALUE
        )
        @KafkaListener(id = "couriers", topics = "deliveries", containerFactory = "withoutTransactions")
        void deliver(ConsumerRecord<String, String> delivery) {
            int number = Integer.parseInt(delivery.value());
            print("couriers", at(delivery));
            if (number % 3 == 0 || number % 2 == 0 && delivery.topic().equals("deliveries")) {
                throw new IllegalStateException("nobody is there");
            }
            remaining.countDown();
        }

        @DltHandler
        void giveUp(ConsumerRecord<String, String> delivery) {
            print("given up", at(delivery));
            remaining.countDown();
        }
    }

    private static String at(ConsumerRecord<String, String> record) {
        String place = record.topic() + "-" + record.partition() + " " + record.offset();
        return place + " " + record.key() + " " + record.value();
    }

    private static synchronized void print(String who, String what) {
        System.out.println("> " + who + ": " + what);
    }
}
