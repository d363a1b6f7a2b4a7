import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import reactor.core.publisher.Flux;
import reactor.kafka.receiver.KafkaReceiver;
import reactor.kafka.receiver.ReceiverOptions;
import reactor.kafka.sender.KafkaSender;
import reactor.kafka.sender.SenderOptions;
import reactor.kafka.sender.SenderRecord;

/** reactor-kafka. The arguments are those of scenario.py. */
public class ReactorKafka {
    static KafkaSender<String, String> sender(Map<String, Object> settings) {
        return KafkaSender.create(SenderOptions.<String, String>create(settings)
            .withKeySerializer(new StringSerializer()).withValueSerializer(new StringSerializer()));
    }

    static Flux<SenderRecord<String, String, String>> records(String topic, List<String> values) {
        return Flux.fromIterable(values)
            .map(value -> SenderRecord.create(new ProducerRecord<>(topic, value, value), value));
    }

    static void produce(String servers, String topic, List<String> values) {
        var sender = sender(Map.of("bootstrap.servers", servers));
        sender.send(records(topic, values)).then().block();
        sender.close();
    }

    static void consume(String servers, String topic, String group, int count) {
        Map<String, Object> settings =
            Map.of("bootstrap.servers", servers, "group.id", group, "auto.offset.reset", "earliest");
        var options = ReceiverOptions.<String, String>create(settings)
            .withKeyDeserializer(new StringDeserializer()).withValueDeserializer(new StringDeserializer())
            .subscription(Set.of(topic));
        KafkaReceiver.create(options).receive()
            .concatMap(record -> {
                System.out.println("read " + record.value());
                return record.receiverOffset().commit().thenReturn(record);
            })
            .take(count).blockLast();
    }

    static void transact(String servers, String topic, String kept, String dropped) {
        var sender = sender(Map.of("bootstrap.servers", servers, "transactional.id", topic + "-writer"));
        var transaction = sender.transactionManager();
        transaction.begin()
            .thenMany(sender.send(records(topic, List.of(kept)))).then(transaction.commit()).block();
        transaction.begin()
            .thenMany(sender.send(records(topic, List.of(dropped)))).then(transaction.abort()).block();
        sender.close();
    }

    public static void main(String[] arguments) {
        List<String> given = List.of(arguments);
        String servers = given.get(1);
        String topic = given.get(2);
        List<String> rest = given.subList(3, given.size());
        switch (given.get(0)) {
            case "produce" -> produce(servers, topic, rest);
            case "consume" -> consume(servers, topic, rest.get(0), Integer.parseInt(rest.get(1)));
            case "transact" -> transact(servers, topic, rest.get(0), rest.get(1));
            default -> throw new IllegalArgumentException(given.get(0));
        }
        System.exit(0);
    }
}
