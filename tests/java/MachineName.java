import java.net.InetAddress;

/** Prints what a Kafka tells the clients of a listener without a host (ListenerInfo.withWildcardHostnamesResolved). */
public class MachineName {
    public static void main(String[] arguments) throws Exception {
        System.out.print(InetAddress.getLocalHost().getCanonicalHostName());
    }
}
