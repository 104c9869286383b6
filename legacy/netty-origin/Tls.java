import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import javax.net.ssl.SSLException;

/**
 * TLS 1.2 by the JDK, with one protocol on offer. A context is kept for good, and with it the key
 * of its session tickets.
 */
final class Tls {
    static final Map<String, String> ALPN = Map.of("h1", "http/1.1", "h2", "h2", "spdy", "spdy/3.1");

    record Certificate(String certificate, String key) {}

    private record Wish(String protocol, String host) {}

    private final Map<String, Certificate> certificates;
    private final Map<Wish, SslContext> contexts = new HashMap<>();

    Tls(Map<String, Certificate> certificates) {
        this.certificates = certificates;
    }

    /** Throws what ends the handshake if nobody knows the host. */
    SslContext context(String protocol, String host) {
        String asked = String.valueOf(host).toLowerCase(Locale.ROOT);
        return contexts.computeIfAbsent(new Wish(protocol, asked), this::made);
    }

    private SslContext made(Wish wish) {
        Certificate own = certificates.get(wish.host);
        if (own == null) {
            throw new IllegalArgumentException("no certificate for " + wish.host);
        }
        try {
            return prepared(
                    SslContextBuilder.forServer(stream(own.certificate), stream(own.key)),
                    wish.protocol);
        } catch (SSLException error) {
            throw new IllegalArgumentException(error);
        }
    }

    /** Client or server, it speaks TLS 1.2 and asks for this protocol or offers it. */
    static SslContext prepared(SslContextBuilder builder, String protocol) throws SSLException {
        return builder
                .sslProvider(SslProvider.JDK)
                .protocols("TLSv1.2")
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        ALPN.get(protocol)))
                .build();
    }

    private static InputStream stream(String pem) {
        return new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII));
    }
}
