import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.component.kafka.KafkaConstants;
import org.apache.camel.impl.DefaultCamelContext;

/** camel-kafka: routes to and from a topic. The arguments are those of scenario.py. */
public class CamelKafka {
    static void produce(String servers, String topic, List<String> values) throws Exception {
        try (var context = new DefaultCamelContext()) {
            context.start();
            try (var template = context.createProducerTemplate()) {
                for (String value : values) {
                    String endpoint = "kafka:" + topic + "?brokers=" + servers;
                    template.sendBodyAndHeader(endpoint, value, KafkaConstants.KEY, value);
                }
            }
        }
    }

    static void consume(String servers, String topic, String group, int count) throws Exception {
        var left = new CountDownLatch(count);
        String endpoint = "kafka:" + topic + "?brokers=" + servers + "&groupId=" + group + "&autoOffsetReset=earliest";
        try (var context = new DefaultCamelContext()) {
            context.addRoutes(new RouteBuilder() {
                @Override
                public void configure() {
                    from(endpoint).process(exchange -> {
                        System.out.println("read " + exchange.getIn().getBody(String.class));
                        left.countDown();
                    });
                }
            });
            context.start();
            left.await();
        }
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
    }
}
