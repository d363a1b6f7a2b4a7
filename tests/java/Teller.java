import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A teller under fire (tests/support/fire/worker.py) with Kafka's own clients: consumes transfers, posts both halves of
 * each, and commits how far it has come in the same transaction; begins anew after an error.
 *
 * Arguments: bootstrap servers, journal, specification (a JSON array of kind, name, number).
 */
public final class Teller {
    private static final int PARTITIONS = 3;
    private static volatile boolean leave;
    private static volatile boolean ended;

    private final String servers;
    private final String name;
    private final String clientId;
    private final PrintWriter journal;

    private Teller(String servers, String name, String number, PrintWriter journal) {
        this.servers = servers;
        this.name = name;
        this.clientId = name + "-" + number;
        this.journal = journal;
    }

    public static void main(String[] arguments) throws Exception {
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            leave = true;
            try {
                main.join(60_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(ended ? 0 : 1);
        }));
        String[] specification = arguments[2].replaceAll("[\\[\\]\" ]", "").split(",");
        try (PrintWriter journal = new PrintWriter(new FileWriter(arguments[1], true), true)) {
            new Teller(arguments[0], specification[1], specification[2], journal).run();
            ended = true;
        }
    }

    private void run() throws IOException {
        while (!leave) {
            try (KafkaProducer<String, String> producer = producer()) {
                write("\"starting\", \"teller\", \"" + name + "\"");
                producer.initTransactions();
                write("\"started\", \"teller\", \"" + name + "\"");
                try (KafkaConsumer<String, String> consumer = consumer()) {
                    consumer.subscribe(List.of("transfers"));
                    while (!leave) {
                        tell(producer, consumer);
                    }
                }
            } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
                write("\"fenced\"");
                return;
            } catch (KafkaException error) {
                if (error.getCause() instanceof ProducerFencedException
                    || error.getCause() instanceof InvalidProducerEpochException) {
                    write("\"fenced\"");
                    return;
                }
                write("\"again\", \"" + error.getClass().getSimpleName() + "\"");
            }
        }
    }

    private void tell(KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer) {
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
        if (records.isEmpty()) {
            return;
        }
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            String[] fields = record.value().replaceAll("[\\[\\] ]", "").split(",");
            post(producer, fields[0], fields[1], "-" + fields[3]);
            post(producer, fields[0], fields[2], fields[3]);
            ends.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(ends, consumer.groupMetadata());
        producer.commitTransaction();
        write("\"told\", " + records.count());
        try {
            Thread.sleep(10);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void post(KafkaProducer<String, String> producer, String number, String account, String change) {
        String value = "[" + number + ", " + account + ", " + change + "]";
        producer.send(new ProducerRecord<>("postings", Integer.parseInt(account) % PARTITIONS, null, value));
    }

    private void write(String facts) {
        journal.println(String.format(Locale.ROOT, "[%d, %s]", System.nanoTime(), facts));
    }

    private KafkaProducer<String, String> producer() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("client.id", clientId);
        settings.put("transactional.id", name);
        settings.put("transaction.timeout.ms", "6000");
        settings.put("max.block.ms", "10000");
        settings.put("reconnect.backoff.max.ms", "200");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("client.id", clientId);
        settings.put("group.id", "tellers");
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("session.timeout.ms", "6000");
        settings.put("heartbeat.interval.ms", "1000");
        settings.put("max.poll.records", "10");
        settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor");
        settings.put("reconnect.backoff.max.ms", "200");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }
}
