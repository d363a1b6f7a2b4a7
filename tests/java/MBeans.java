import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.tools.attach.VirtualMachine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * The numbers in the MBeans of a Kafka that runs. A line in: its process id; a line out: {object name: {attribute:
 * number}}, of the domains of Kafka.
 */
public final class MBeans {
    private static final ObjectMapper JSON = new ObjectMapper();

    private MBeans() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            VirtualMachine machine = VirtualMachine.attach(JSON.readTree(line).asText());
            JMXServiceURL address = new JMXServiceURL(machine.startLocalManagementAgent());
            machine.detach();
            try (JMXConnector connector = JMXConnectorFactory.connect(address)) {
                System.out.println(JSON.writeValueAsString(numbers(connector.getMBeanServerConnection())));
            }
        }
    }

    private static ObjectNode numbers(MBeanServerConnection server) throws Exception {
        ObjectNode found = JSON.createObjectNode();
        for (ObjectName name : server.queryNames(new ObjectName("kafka.*:*"), null)) {
            try {
                found.set(name.toString(), numbers(server, name));
            } catch (InstanceNotFoundException gone) {
                continue; // a fetcher or a partition that has ended since the names were asked for
            }
        }
        return found;
    }

    private static ObjectNode numbers(MBeanServerConnection server, ObjectName name) throws Exception {
        ObjectNode attributes = JSON.createObjectNode();
        for (MBeanAttributeInfo attribute : server.getMBeanInfo(name).getAttributes()) {
            Object value = server.getAttribute(name, attribute.getName());
            if (value instanceof Number number) {
                attributes.put(attribute.getName(), number.doubleValue());
            }
        }
        return attributes;
    }
}
