import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;

/** Who answers: a Unix socket with HTTP/1.1. Belongs to the event loop. */
final class Upstream {
    private final EventLoop loop;
    private final UnixDomainSocketAddress address;
    private final Deque<Channel> idle = new ArrayDeque<>();

    Upstream(EventLoop loop, Path socket) {
        this.loop = loop;
        this.address = UnixDomainSocketAddress.of(socket);
    }

    /** Joins `forward` to a connection that is free, or to a new one. */
    void ask(Forward forward) {
        for (Channel free = idle.poll(); free != null; free = idle.poll()) {
            if (free.isActive()) {
                free.pipeline().addLast(forward);
                return;
            }
        }
        ChannelInitializer<Channel> both = new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(
                        new HttpClientCodec(Server.LONG_HEADERS, false, false), forward);
            }
        };
        Bootstrap way = new Bootstrap().group(loop).channel(NioDomainSocketChannel.class);
        way.handler(both).connect(address).addListener(reached -> {
            if (!reached.isSuccess()) {
                forward.unreachable();
            }
        });
    }

    void keep(Channel channel) {
        channel.config().setAutoRead(true);
        idle.push(channel);
    }

    void close() {
        idle.forEach(Channel::close);
        idle.clear();
    }
}
