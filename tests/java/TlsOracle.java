import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Java's and Kafka's classes about certificates. An order is JSON a line: "names" (DER in Base64, printed),
 * "rules" with "mapped" (names after ssl.principal.mapping.rules; null if none matches), or "store" (a key store that is
 * written: type, path, passwords, key, chain, trusted certificate).
 */
public final class TlsOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private TlsOracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(
                answer(JSON.readTree(line))));
        }
    }

    private static ArrayNode answer(JsonNode order) throws Exception {
        ArrayNode answers = JSON.createArrayNode();
        if (order.has("names")) {
            for (JsonNode name : order.get("names")) {
                try {
                    answers.add(new X500Principal(decoded(name)).getName());
                } catch (IllegalArgumentException malformed) {
                    answers.addNull();
                }
            }
        } else if (order.has("rules")) {
            SslPrincipalMapper mapper;
            try {
                mapper = SslPrincipalMapper.fromRules(order.get("rules").asText());
            } catch (IllegalArgumentException malformed) {
                return answers.add("malformed");
            }
            for (JsonNode name : order.get("mapped")) {
                try {
                    answers.add(mapper.getName(name.asText()));
                } catch (SslPrincipalMapper.NoMatchingRule none) {
                    answers.addNull();
                }
            }
        } else {
            write(order.get("store"));
        }
        return answers;
    }

    private static void write(JsonNode order) throws Exception {
        KeyStore store = KeyStore.getInstance(order.get("type").asText());
        store.load(null, null);
        if (order.has("key")) {
            PrivateKey key = KeyFactory.getInstance(order.get("algorithm").asText())
                .generatePrivate(new PKCS8EncodedKeySpec(decoded(order.get("key"))));
            Certificate[] chain = new Certificate[order.get("chain").size()];
            for (int i = 0; i < chain.length; i++) {
                chain[i] = certificate(order.get("chain").get(i));
            }
            store.setKeyEntry("kafka", key, order.get("keyPassword").asText().toCharArray(), chain);
        }
        if (order.has("trusted")) {
            store.setCertificateEntry("authority", certificate(order.get("trusted")));
        }
        try (OutputStream out = Files.newOutputStream(Path.of(order.get("path").asText()))) {
            store.store(out, order.get("password").asText().toCharArray());
        }
    }

    private static Certificate certificate(JsonNode text) throws Exception {
        return CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(decoded(text)));
    }

    private static byte[] decoded(JsonNode text) {
        return Base64.getDecoder().decode(text.asText());
    }
}
