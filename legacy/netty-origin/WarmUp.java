import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.util.concurrent.Promise;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Requests over loopback before a protocol's first visit, which would otherwise pay for loading and
 * compiling what it needs: Python says how many (dragstrip.testbed.spdy_server). A stub answers them, so the origin's log knows nothing of them.
 */
final class WarmUp {
    /** Few, because handshakes are what is compiled last. */
    private static final int REQUESTS_PER_CONNECTION = 5;

    private static final int[] BODY_BYTES = {600, 6_000, 60_000};

    /** A client that takes little at once lets the server wait, as a slow link does. */
    private static final int CLIENT_TAKES_BYTES = 8_192;

    private final Server server;
    private final String address;
    private final String host;
    private final NioEventLoopGroup outside = new NioEventLoopGroup(1);

    /** For `host`, which the server serves on `address`. */
    WarmUp(Server server, String address, String host) {
        this.server = server;
        this.address = address;
        this.host = host;
    }

    /** At least so many; `stub` is where a Unix socket may be. The server is tuned to `protocol`. */
    void make(int requests, String protocol, Path stub) throws Exception {
        Channel answering = answer(stub);
        server.lead(stub);
        for (int made = 0; made < requests; made += 2 * REQUESTS_PER_CONNECTION) {
            SslContext trusting = Tls.prepared(
                    SslContextBuilder.forClient()
                            .trustManager(InsecureTrustManagerFactory.INSTANCE),
                    protocol);
            connect(trusting, protocol);
            connect(trusting, protocol); // resumes
        }
        server.order("close", null);
        server.order("log", null);
        answering.close().sync();
        Files.deleteIfExists(stub);
        outside.shutdownGracefully();
    }

    private Channel answer(Path stub) throws InterruptedException {
        return new ServerBootstrap()
                .group(outside)
                .channel(NioServerDomainSocketChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new Stub());
                    }
                })
                .bind(UnixDomainSocketAddress.of(stub))
                .sync()
                .channel();
    }

    private void connect(SslContext trusting, String protocol) throws InterruptedException {
        Promise<Void> done = outside.next().newPromise();
        Channel channel = new Bootstrap()
                .group(outside)
                .channel(NioSocketChannel.class)
                .option(ChannelOption.SO_RCVBUF, CLIENT_TAKES_BYTES)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(trusting.newHandler(channel.alloc(), host, Server.PORT));
                        Asker.join(channel.pipeline(), protocol, host, REQUESTS_PER_CONNECTION, done);
                    }
                })
                .connect(address, Server.PORT)
                .sync()
                .channel();
        done.sync();
        channel.close().sync();
    }

    private static final class Stub extends SimpleChannelInboundHandler<HttpRequest> {
        private int answered;

        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpRequest asked) {
            byte[] body = new byte[BODY_BYTES[answered++ % BODY_BYTES.length]];
            HttpResponse answer = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(body));
            answer.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
            context.writeAndFlush(answer);
        }
    }
}
