import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.jar.JarFile;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * Asks Apache Kafka's own message classes. A line in: name, version, bytes in hex, JSON (or "-"), with tabs between.
 * A line out: "ok", or what differs. Checked: Kafka makes the same bytes from the JSON; it reads the bytes to their
 * end as an equal object; it writes that object as the same bytes again.
 */
public class Codec {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    private record Kind(Constructor<?> fromBytes, Method fromJson) { }

    public static void main(String[] arguments) throws Exception {
        Map<String, Kind> kinds = findKinds();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            String[] parts = line.split("\t", 4);
            Kind kind = kinds.get(parts[0]);
            String answer;
            try {
                answer = kind == null ? "Kafka has no class for it"
                    : check(kind, Short.parseShort(parts[1]), HEX.parseHex(parts[2]), parts[3]);
            } catch (InvocationTargetException e) {
                answer = "Kafka throws " + e.getCause();
            } catch (RuntimeException e) {
                answer = "Kafka throws " + e;
            }
            out.println(answer.replace('\n', ' '));
        }
        out.flush();
    }

    /** The message classes by their name in the table: wherever a jar has a JsonConverter. */
    private static Map<String, Kind> findKinds() throws Exception {
        Map<String, Kind> kinds = new HashMap<>();
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!new File(path).getName().startsWith("kafka")) {
                continue;
            }
            try (JarFile jar = new JarFile(path)) {
                for (var entries = jar.entries(); entries.hasMoreElements(); ) {
                    String name = entries.nextElement().getName();
                    if (name.endsWith("JsonConverter.class") && !name.contains("$")) {
                        addKind(kinds, name.replace('/', '.').replace("JsonConverter.class", ""));
                    }
                }
            }
        }
        return kinds;
    }

    private static void addKind(Map<String, Kind> kinds, String className) throws Exception {
        Class<?> type = Class.forName(className);
        if (!Message.class.isAssignableFrom(type)) {
            return;
        }
        Class<?> converter = Class.forName(className + "JsonConverter");
        String simple = type.getSimpleName();
        Kind kind = new Kind(type.getConstructor(Readable.class, short.class),
            converter.getMethod("read", JsonNode.class, short.class));
        kinds.put(simple, kind);
        if (simple.endsWith("Data")) {
            kinds.putIfAbsent(simple.substring(0, simple.length() - 4), kind);
        }
    }

    private static String check(Kind kind, short version, byte[] bytes, String json) throws Exception {
        ByteBufferAccessor readable = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
        Message fromBytes = (Message) kind.fromBytes.newInstance(readable, version);
        if (readable.remaining() != 0) {
            return "Kafka leaves " + readable.remaining() + " bytes unread";
        }
        byte[] again = write(fromBytes, version);
        if (!Arrays.equals(bytes, again)) {
            return "Kafka writes what it read as " + HEX.formatHex(again);
        }
        if (json.equals("-")) {
            return "ok";
        }
        Message fromJson = (Message) kind.fromJson.invoke(null, MAPPER.readTree(json), version);
        byte[] written = write(fromJson, version);
        if (!Arrays.equals(bytes, written)) {
            return "Kafka writes the JSON as " + HEX.formatHex(written);
        }
        return fromJson.equals(fromBytes) ? "ok" : "Kafka reads the bytes as " + fromBytes;
    }

    private static byte[] write(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }
}
