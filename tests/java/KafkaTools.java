import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Apache Kafka's command line tools, many calls in one JVM. A line in: {"tool": class name, "arguments": [...]}.
 * With "input" the tool reads this text as its standard input.
 * A line out: {"code": exit code, "out": standard output, "err": standard error}.
 */
public class KafkaTools {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static class Exited extends Error {
    }

    /** The code of the first exit of a call: it would end a JVM. Some tools catch what is thrown here, and exit again. */
    private static Integer firstCode;

    public static void main(String[] ignored) throws Exception {
        onExit("setExitProcedure", (proxy, method, values) -> {
            firstCode = firstCode == null ? (Integer) values[0] : firstCode;
            throw new Exited();
        });
        List<Runnable> hooks = new ArrayList<>();
        onExit("setShutdownHookAdder", (proxy, method, values) -> hooks.add((Runnable) values[1]) ? null : null);
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode order = MAPPER.readTree(line);
            String[] arguments = new String[order.get("arguments").size()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = order.get("arguments").get(i).asText();
            }
            Method main = Class.forName(order.get("tool").asText()).getMethod("main", String[].class);
            System.setIn(new ByteArrayInputStream(order.path("input").asText().getBytes(StandardCharsets.UTF_8)));
            answers.println(run(main, arguments, hooks));
        }
    }

    /** Calls a setter of Kafka's class Exit, which Kafka 4.4 has in another package, with a function. */
    private static void onExit(String setter, InvocationHandler function) throws ReflectiveOperationException {
        Class<?> exit;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        } catch (ClassNotFoundException beforeKafka44) {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
        }
        for (Method method : exit.getMethods()) {
            if (method.getName().equals(setter)) {
                Class<?> wanted = method.getParameterTypes()[0];
                method.invoke(null, Proxy.newProxyInstance(wanted.getClassLoader(), new Class<?>[] {wanted}, function));
            }
        }
    }

    private static ObjectNode run(Method main, String[] arguments, List<Runnable> hooks) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream oldOut = System.out;
        PrintStream oldErr = System.err;
        firstCode = null;
        try {
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            main.invoke(null, (Object) arguments);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof Exited)) {  // a JVM ends with 1 if its main method throws
                firstCode = 1;
                e.getCause().printStackTrace();
            }
        } finally {
            hooks.forEach(Runnable::run);  // the console producer sends its last records when the JVM ends
            hooks.clear();
            System.setOut(oldOut);
            System.setErr(oldErr);
        }
        ObjectNode answer = MAPPER.createObjectNode();
        answer.put("code", firstCode == null ? 0 : firstCode);
        answer.put("out", out.toString(StandardCharsets.UTF_8));
        answer.put("err", err.toString(StandardCharsets.UTF_8));
        return answer;
    }
}
