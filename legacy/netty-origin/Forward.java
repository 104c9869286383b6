import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * One request on its way to dragstrip-origin and the answer on its way back, so that what is
 * served, and by which rules, is the same for all servers (docs/explanation/replay.md).
 */
final class Forward extends ChannelInboundHandlerAdapter {
    /** Headers of one connection (RFC 9110 section 7.6.1), not of what it carries. */
    private static final Set<String> OF_CONNECTION =
            Set.of("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade");

    private final Upstream upstream;
    private final Stream stream;
    private final Log.Request entry;
    private final Deque<Object> waiting = new ArrayDeque<>();
    private ChannelHandlerContext origin; // while it is reached for this
    private boolean asked;
    private boolean over;
    private boolean reusable;

    /** `headers` have the host; with `more` a body follows. */
    Forward(Upstream upstream, Stream stream, Log.Request entry, String path, HttpHeaders headers,
            boolean more) {
        this.upstream = upstream;
        this.stream = stream;
        this.entry = entry;
        HttpMethod method = HttpMethod.valueOf(entry.method);
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, method, path, headers);
        if (more && !headers.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            HttpUtil.setTransferEncodingChunked(head, true);
        }
        waiting.add(head);
        if (!more) {
            end();
        }
        upstream.ask(this);
    }

    /** Those headers that go on to the other side, in lower case. */
    static HttpHeaders carried(
            Iterable<? extends Map.Entry<? extends CharSequence, ? extends CharSequence>> headers) {
        HttpHeaders kept =
                DefaultHttpHeadersFactory.headersFactory().withValidation(false).newHeaders();
        for (Map.Entry<? extends CharSequence, ? extends CharSequence> header : headers) {
            String name = header.getKey().toString().toLowerCase(Locale.ROOT);
            if (!name.startsWith(":") && !OF_CONNECTION.contains(name)) {
                kept.add(name, header.getValue().toString());
            }
        }
        return kept;
    }

    /** A part of the request's body. */
    void body(ByteBuf part, boolean last) {
        if (over || asked) {
            part.release();
            return;
        }
        send(new DefaultHttpContent(part));
        if (last) {
            end();
        }
    }

    private void end() {
        asked = true;
        send(LastHttpContent.EMPTY_LAST_CONTENT);
    }

    private void send(Object part) {
        if (origin == null) {
            waiting.add(part);
        } else {
            origin.writeAndFlush(part);
        }
    }

    /** The client takes more, or no more for now. */
    void pace() {
        if (origin != null) {
            origin.channel().config().setAutoRead(stream.writable());
        }
    }

    /** The client no longer wants it. */
    void cancel() {
        over = true;
        drop();
        if (origin != null) {
            origin.close();
        }
    }

    /** There is no origin, or no longer. */
    void unreachable() {
        drop();
        if (!over) {
            over = true;
            stream.fail();
        }
    }

    private void drop() {
        waiting.forEach(ReferenceCountUtil::release);
        waiting.clear();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        if (context.channel().isActive()) {
            channelActive(context);
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        if (over) {
            context.close();
            return;
        }
        origin = context;
        waiting.forEach(context::write);
        waiting.clear();
        context.flush();
        pace();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object part) {
        if (over) {
            ReferenceCountUtil.release(part);
            return;
        }
        if (part instanceof HttpResponse head) {
            reusable = HttpUtil.isKeepAlive(head);
            entry.status = head.status().code();
            stream.begin(entry.status, carried(head.headers()));
        }
        if (part instanceof HttpContent body) {
            entry.bodyBytes += body.content().readableBytes();
            stream.write(body.content());
        }
        if (part instanceof LastHttpContent) {
            finish(context);
        }
    }

    private void finish(ChannelHandlerContext context) {
        over = true;
        origin = null;
        stream.end().addListener(sent -> {
            if (sent.isSuccess()) {
                entry.ended();
            }
        });
        stream.flush();
        context.pipeline().remove(this);
        if (reusable && asked) {
            upstream.keep(context.channel());
        } else {
            context.close();
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        stream.flush();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        unreachable();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
