import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

/**
 * Asks Apache Kafka's request classes how a request is answered whose handling failed. A line in: API key, version, the
 * request's body in hex, with tabs between. A line out: the response's body in hex, "none", or "refused: " and why Kafka's
 * classes do not take such a request.
 */
public class ErrorResponses {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            String[] parts = line.split("\t", 3);
            ByteBufferAccessor body = new ByteBufferAccessor(ByteBuffer.wrap(HEX.parseHex(parts[2])));
            short version = Short.parseShort(parts[1]);
            ApiKeys key = ApiKeys.forId(Integer.parseInt(parts[0]));
            String answer;
            try {
                AbstractRequest request = AbstractRequest.parseRequest(key, version, body).request;
                AbstractResponse response = request.getErrorResponse(0, new IllegalStateException("not for the client"));
                answer = response == null ? "none" : HEX.formatHex(bytes(response.data(), version));
            } catch (RuntimeException e) {
                answer = "refused: " + e.toString().replace('\n', ' ');
            }
            out.println(answer);
        }
        out.flush();
    }

    private static byte[] bytes(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }
}
