import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * Speaks every message and version through Apache Kafka's own classes, for questions put to two brokers.
 *
 * <p>Reads one order a line, JSON, and answers each with a line. {"do": "ask" | "send" | "receive" | "raw" | "close",
 * "port": N, "connection": "name", "api": "JoinGroup", "version": 9, "client": "id", "body": {...}, "hex": "...",
 * "wait": ms}. "ask" is "send" and then "receive"; to wait 0 ms is to take what is there. The answer has "body", or
 * "closed": true, "timeout": true, or "problem": text. A list of orders is done one after the other and answered with a
 * list. {"do": "listen"} answers with a "port" where any number of others may give orders of their own at the same
 * time; each has connections of its own.
 */
public final class Wire {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Map<String, Connection> connections = new HashMap<>();

    private record Sent(ApiMessageType type, short version) {}

    private static final class Connection {
        final SocketChannel channel;
        final Socket socket;
        final DataInputStream in;
        final Queue<Sent> unanswered = new ArrayDeque<>();
        int correlation;

        Connection(int port) throws IOException {
            channel = SocketChannel.open(new InetSocketAddress("127.0.0.1", port));
            socket = channel.socket();
            socket.setTcpNoDelay(true);
            in = new DataInputStream(socket.getInputStream());
        }

        /** The next frame; waits so long for its beginning. */
        byte[] frame(int waitMs) throws IOException {
            byte[] size = new byte[4];
            int read = waitMs == 0 ? atHand(size) : within(waitMs, size);
            if (read < 0) {
                throw new EOFException();
            }
            socket.setSoTimeout(10_000); // the rest of an answer that has begun
            in.readFully(size, read, size.length - read);
            byte[] frame = new byte[ByteBuffer.wrap(size).getInt()];
            in.readFully(frame);
            return frame;
        }

        private int within(int waitMs, byte[] bytes) throws IOException {
            socket.setSoTimeout(waitMs);
            return in.read(bytes);
        }

        private int atHand(byte[] bytes) throws IOException {
            channel.configureBlocking(false);
            int read = channel.read(ByteBuffer.wrap(bytes));
            channel.configureBlocking(true);
            if (read == 0) {
                throw new SocketTimeoutException();
            }
            return read;
        }
    }

    private Wire() {}

    public static void main(String[] arguments) throws IOException {
        new Wire().serve(System.in, System.out);
    }

    private void serve(InputStream in, OutputStream out) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode orders = JSON.readTree(line);
            out.write(JSON.writeValueAsBytes(orders.isArray() ? all(orders) : answer(orders)));
            out.write('\n');
            out.flush();
        }
        for (Connection connection : connections.values()) {
            connection.socket.close();
        }
    }

    private ArrayNode all(JsonNode orders) {
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode order : orders) {
            answers.add(answer(order));
        }
        return answers;
    }

    private ObjectNode answer(JsonNode order) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            step(order, answer);
        } catch (SocketTimeoutException e) {
            answer.put("timeout", true);
        } catch (EOFException | java.net.SocketException e) {
            answer.put("closed", true);
        } catch (IOException | ReflectiveOperationException | RuntimeException e) {
            answer.put("problem", String.valueOf(e.getCause() == null ? e : e.getCause()));
        }
        return answer;
    }

    /** Takes orders from whoever connects, each on a thread of its own. Returns the port. */
    private static int listen() throws IOException {
        ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        inBackground(() -> {
            while (true) {
                Socket accepted = listening.accept();
                accepted.setTcpNoDelay(true);
                inBackground(() -> {
                    try (accepted) {
                        new Wire().serve(accepted.getInputStream(), accepted.getOutputStream());
                    }
                    return null;
                });
            }
        });
        return listening.getLocalPort();
    }

    private static void inBackground(Callable<Void> work) {
        Thread thread = new Thread(new FutureTask<>(work));
        thread.setDaemon(true);
        thread.start();
    }

    private void step(JsonNode order, ObjectNode answer) throws IOException, ReflectiveOperationException {
        String what = order.get("do").asText();
        if (what.equals("listen")) {
            answer.put("port", listen());
            return;
        }
        String name = order.get("port").asInt() + "/" + order.path("connection").asText("main");
        Connection connection = connections.get(name);
        if (what.equals("close")) {
            if (connection != null) {
                connection.socket.close();
                connections.remove(name);
            }
            return;
        }
        if (connection == null) {
            connection = new Connection(order.get("port").asInt());
            connections.put(name, connection);
        }
        try {
            if (what.equals("raw")) {
                connection.socket.getOutputStream().write(HexFormat.of().parseHex(order.get("hex").asText()));
            } else if (!what.equals("receive")) {
                send(connection, order);
            }
            if (what.equals("ask") || what.equals("receive")) {
                receive(connection, order.path("wait").asInt(10_000), answer);
            }
        } catch (EOFException | java.net.SocketException e) {
            connection.socket.close();
            connections.remove(name);
            throw e;
        }
    }

    private static Class<?> message(String name) throws ClassNotFoundException {
        return Class.forName("org.apache.kafka.common.message." + name);
    }

    private static ApiMessageType type(String name) {
        for (ApiMessageType type : ApiMessageType.values()) {
            if (type.name.equals(name)) {
                return type;
            }
        }
        throw new IllegalArgumentException("no API " + name);
    }

    private static void send(Connection connection, JsonNode order) throws IOException, ReflectiveOperationException {
        ApiMessageType type = type(order.get("api").asText());
        short version = (short) order.get("version").asInt();
        Message body = (Message) message(type.name + "RequestDataJsonConverter")
            .getMethod("read", JsonNode.class, short.class)
            .invoke(null, order.get("body"), version);
        RequestHeaderData header = new RequestHeaderData()
            .setRequestApiKey(type.apiKey())
            .setRequestApiVersion(version)
            .setCorrelationId(++connection.correlation)
            .setClientId(order.path("client").asText("wire"));
        ObjectSerializationCache cache = new ObjectSerializationCache();
        short headerVersion = type.requestHeaderVersion(version);
        int size = header.size(cache, headerVersion) + body.size(cache, version);
        ByteBuffer frame = ByteBuffer.allocate(4 + size);
        frame.putInt(size);
        ByteBufferAccessor writer = new ByteBufferAccessor(frame);
        header.write(writer, cache, headerVersion);
        body.write(writer, cache, version);
        connection.unanswered.add(new Sent(type, version));
        connection.socket.getOutputStream().write(frame.array());
    }

    private static void receive(Connection connection, int waitMs, ObjectNode answer)
            throws IOException, ReflectiveOperationException {
        byte[] frame = connection.frame(waitMs);
        Sent sent = connection.unanswered.remove();
        ByteBufferAccessor reader = new ByteBufferAccessor(ByteBuffer.wrap(frame));
        ResponseHeaderData header = new ResponseHeaderData(reader, sent.type.responseHeaderVersion(sent.version));
        ApiMessage body = (ApiMessage) message(sent.type.name + "ResponseData")
            .getConstructor(Readable.class, short.class)
            .newInstance(reader, sent.version);
        answer.set("body", (JsonNode) message(sent.type.name + "ResponseDataJsonConverter")
            .getMethod("write", body.getClass(), short.class)
            .invoke(null, body, sent.version));
        answer.put("left", reader.remaining());
        answer.put("unanswered", connection.correlation - header.correlationId());
    }
}
