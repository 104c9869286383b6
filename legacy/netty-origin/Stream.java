import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.handler.codec.http.HttpHeaders;

/** A client's request as the place its answer goes to, in whichever protocol. */
interface Stream {
    void begin(int status, HttpHeaders headers);

    /** A part of the body, released when it is written. */
    void write(ByteBuf part);

    /** The answer is complete. The future ends when its last byte was handed to the kernel. */
    ChannelFuture end();

    void flush();

    /** Whether more would be sent soon, and not only kept. */
    boolean writable();

    /** The rest of the answer is not to be had. */
    void fail();
}
