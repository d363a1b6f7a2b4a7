import java.lang.reflect.Field;
import java.util.Properties;
import kafka.Kafka;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.server.SharedServer;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;

/**
 * A controller that looks each second for what it can delete of the metadata log. Kafka's looks each minute, and has no
 * key for it. Otherwise it is {@code kafka.Kafka}; the argument is the configuration file.
 */
public class QuickCleaning {
    private static final long EVERY_MS = 1_000;

    public static void main(String[] args) throws Exception {
        Properties properties = Kafka.getPropsFromArgs(args);
        KafkaRaftServer server = new KafkaRaftServer(KafkaConfig.fromProps(properties, false), Time.SYSTEM);
        Exit.addShutdownHook("kafka-shutdown-hook", server::shutdown);
        server.startup();
        SharedServer shared = (SharedServer) field(KafkaRaftServer.class, "sharedServer").get(server);
        Object client = shared.raftManager().client();
        Object cleaner = field(client.getClass(), "snapshotCleaner").get(client);
        field(cleaner.getClass(), "delayMs").setLong(cleaner, EVERY_MS);
        ((Timer) field(cleaner.getClass(), "timer").get(cleaner)).reset(EVERY_MS);
        server.awaitShutdown();
        Exit.exit(0);
    }

    private static Field field(Class<?> owner, String name) throws NoSuchFieldException {
        Field found = owner.getDeclaredField(name);
        found.setAccessible(true);
        return found;
    }
}
