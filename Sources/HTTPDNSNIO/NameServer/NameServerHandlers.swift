// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSPrimitives
internal import NIOCore

extension HTTPDNSAddress {
    /// Returns the address of a socket's peer.
    fileprivate init?(_ peer: SocketAddress?) { self.init(peer?.ipAddress ?? "") }
}

/// The datagrams of an address.
final class NameServerDatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let replies: PendingReplies

    init(_ replies: PendingReplies) { self.replies = replies }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let datagram = unwrapInboundIn(data)
        let peer = datagram.remoteAddress
        // A reply to port 0 goes nowhere.
        guard let address = HTTPDNSAddress(peer), peer.port != 0 else { return }
        var isReading = true
        replies.reply(to: Array(datagram.data.readableBytesView), from: .init(address: address, isStream: false)) {
            [self] reply in
            guard let reply else { return }
            let envelope = wrapOutboundOut(AddressedEnvelope(remoteAddress: peer, data: ByteBuffer(bytes: reply)))
            context.write(envelope, promise: nil)
            // Those that are sent at once go together.
            if !isReading { context.flush() }
        }
        isReading = false
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }

    /// A port of a client that is closed, or a full buffer: neither is an end.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

@available(*, unavailable)
extension NameServerDatagramHandler: Sendable {}

/// A connection: messages behind their lengths (RFC 1035 section 4.2.2), answered in any order (RFC 7766 section 7).
final class NameServerStreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The queries that may wait; then no more is read.
    private static let maximumWaiting = 64

    private let replies: PendingReplies
    private var received = ByteBuffer()
    private var waiting = 0
    private var isCounted = false

    init(_ replies: PendingReplies) { self.replies = replies }

    func channelActive(context: ChannelHandlerContext) {
        guard replies.connections < NameServerListener.maximumConnections else { return context.close(promise: nil) }
        replies.connections += 1
        isCounted = true
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isCounted { replies.connections -= 1 }
        isCounted = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        serve(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        readOn(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        serve(context)
        readOn(context)
    }

    private func readOn(_ context: ChannelHandlerContext) {
        if context.channel.isWritable, waiting < Self.maximumWaiting { context.read() }
    }

    private func serve(_ context: ChannelHandlerContext) {
        guard let address = HTTPDNSAddress(context.remoteAddress) else { return context.close(promise: nil) }
        while waiting < Self.maximumWaiting, context.channel.isWritable,
            let message = received.readLengthPrefixedSlice(as: UInt16.self)
        {
            waiting += 1
            var isReading = true
            replies.reply(to: Array(message.readableBytesView), from: .init(address: address, isStream: true)) {
                [self] reply in
                waiting -= 1
                guard let reply else { return context.close(promise: nil) }
                var framed = ByteBuffer()
                framed.writeInteger(UInt16(clamping: reply.count))
                framed.writeBytes(reply)
                context.write(wrapOutboundOut(framed), promise: nil)
                guard !isReading else { return }
                context.flush()
                serve(context)
                readOn(context)
            }
            isReading = false
        }
        received.discardReadBytes()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

@available(*, unavailable)
extension NameServerStreamHandler: Sendable {}
#endif
