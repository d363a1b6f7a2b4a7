import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A client that goes on over restarts (tests/clients/restarted_programs.py, which has the lines that it reads and
 * writes).
 *
 * Arguments: bootstrap servers, kind of client.
 */
public final class RestartedClient {
    private static final String IN = "in";
    private static final String OUT = "out";
    private static final BufferedReader ORDERS = new BufferedReader(new InputStreamReader(System.in));

    private final String servers;
    private final String kind;
    private KafkaProducer<String, String> producer;
    private KafkaConsumer<String, String> consumer;
    private KafkaShareConsumer<String, String> shareConsumer;

    private RestartedClient(String servers, String kind) {
        this.servers = servers;
        this.kind = kind;
    }

    public static void main(String[] arguments) throws Exception {
        RestartedClient client = new RestartedClient(arguments[0], arguments[1]);
        client.start();
        System.out.println("ready");
        for (String number = ORDERS.readLine(); number != null; number = ORDERS.readLine()) {
            client.act(number);
            System.out.println("done");
        }
        client.close();
    }

    private static void ask(String question) throws Exception {
        System.out.println(question);
        ORDERS.readLine();
    }

    private boolean copies() {
        return kind.startsWith("copies");
    }

    private boolean hasTransactions() {
        return copies() || kind.equals("transactions");
    }

    private void start() {
        if (kind.endsWith("producer") || hasTransactions()) {
            Properties settings = settings();
            if (hasTransactions()) {
                settings.put("transactional.id", "restart-java");
            } else {
                settings.put("enable.idempotence", String.valueOf(kind.startsWith("idempotent")));
            }
            producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
            if (hasTransactions()) {
                producer.initTransactions();
            }
        }
        if (kind.equals("share group")) {
            Properties settings = settings();
            settings.put("group.id", "restart-group");
            shareConsumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            shareConsumer.subscribe(List.of(IN));
        } else if (kind.endsWith("group")) {
            Properties settings = settings();
            settings.put("group.id", "restart-group");
            settings.put("group.protocol", kind.endsWith("consumer group") ? "consumer" : "classic");
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(IN));
        }
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        return settings;
    }

    private void act(String number) throws Exception {
        if (shareConsumer != null) {
            accept(number);
        } else if (hasTransactions()) {
            transact(number);
        } else if (producer != null) {
            Future<RecordMetadata> sent = producer.send(new ProducerRecord<>(OUT, number));
            ask("middle");
            sent.get();
        } else {
            ask("middle");
            ask("write");
            next(number);
            commit();
        }
    }

    /** A share group begins at the end, so numbers are written until one comes. */
    private void accept(String number) throws Exception {
        ask("middle");
        boolean found = false;
        while (!found) {
            ask("write");
            for (ConsumerRecord<String, String> record : shareConsumer.poll(Duration.ofMillis(200))) {
                found |= record.value().equals(number);
            }
        }
        shareConsumer.commitSync();
    }

    private void transact(String number) throws Exception {
        OffsetAndMetadata position = null;
        if (copies()) {
            ask("write");
            position = new OffsetAndMetadata(next(number).offset() + 1);
        }
        boolean first = true;
        boolean ended = false;
        while (!ended) {
            try {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(OUT, number));
                if (first) {
                    first = false;
                    ask("middle");
                }
                if (copies()) {
                    producer.sendOffsetsToTransaction(
                        Map.of(new TopicPartition(IN, 0), position), consumer.groupMetadata());
                }
                commitTransaction();
                ended = true;
            } catch (ProducerFencedException | AuthorizationException fatal) {
                throw fatal;
            } catch (KafkaException error) {
                System.err.println("again after " + error);
                producer.abortTransaction();
                if (consumer != null) {
                    consumer.poll(Duration.ofMillis(200)); // it joins again
                }
            }
        }
    }

    /** A commit that has not been answered is asked for again. */
    private void commitTransaction() {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (org.apache.kafka.common.errors.TimeoutException unanswered) {
                System.err.println("commits again after " + unanswered);
            }
        }
    }

    private ConsumerRecord<String, String> next(String number) {
        while (true) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
            for (ConsumerRecord<String, String> record : records) {
                if (record.value().equals(number)) {
                    return record;
                }
            }
        }
    }

    private void commit() {
        while (true) {
            try {
                consumer.commitSync();
                return;
            } catch (CommitFailedException | RebalanceInProgressException error) {
                consumer.poll(Duration.ofMillis(200)); // it joins again
            } catch (RetriableException error) {
                System.err.println("commits again after " + error);
            }
        }
    }

    private void close() {
        if (producer != null) {
            producer.close();
        }
        if (consumer != null) {
            consumer.close();
        }
        if (shareConsumer != null) {
            shareConsumer.close();
        }
    }
}
