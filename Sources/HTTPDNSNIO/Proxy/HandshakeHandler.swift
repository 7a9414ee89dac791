// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import NIOCore
internal import NIOPosix

/// A client's connection until its tunnel is made: the bytes of ``ProxyHandshake``, a limit of time, and the connection to the
/// destination.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let shared: ProxyState
    private var handshake: ProxyHandshake
    private var limit: Scheduled<Void>?
    private var isConnecting = false
    /// Whether the client has ended its side while its tunnel was made.
    private var inputHasEnded = false
    private var work: Task<Void, Never>?

    init(_ shared: ProxyState) {
        self.shared = shared
        handshake = ProxyHandshake(shared.login)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard shared.beginsHandshake(context.channel) else { return context.close(promise: nil) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        limit = context.eventLoop.scheduleTask(in: TimeAmount(shared.configuration.handshakeTimeout)) {
            let (handler, context) = bound.value
            handler.shared.noteRefusal(.malformed)
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        shared.endedHandshake(context.channel)
        limit?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        limit?.cancel()
        work?.cancel()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            inputHasEnded = true
            // Without a whole request it has left.
            if !isConnecting { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for action in handshake.received(unwrapInboundIn(data).readableBytesView) {
            switch action {
            case .reply(let bytes): write(bytes, context)
            case .refuse(let bytes, let refusal):
                shared.noteRefusal(refusal)
                refuse(bytes, context)
            case .connect(let target):
                limit?.cancel()
                connect(to: target, context)
            }
        }
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func refuse(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        limit?.cancel()
        if bytes.isEmpty { return context.close(promise: nil) }
        // The client reads the answer before the end of the connection.
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).whenComplete { _ in
            bound.value.close(promise: nil)
        }
    }

    private func connect(to target: ProxyHandshake.Target, _ context: ChannelHandlerContext) {
        let (shared, loop, client) = (shared, context.eventLoop, context.channel)
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        isConnecting = true
        client.setOption(.autoRead, value: false).whenFailure { _ in client.close(promise: nil) }
        work = Task {
            let (socket, outcome) = await shared.connect(to: target)
            loop.execute {
                let (handler, context) = bound.value
                if let socket {
                    handler.join(context, to: target, socket)
                } else {
                    handler.refuse(handler.handshake.answer(to: outcome), context)
                }
            }
        }
    }

    /// Makes a tunnel of the client's connection and that to the destination.
    private func join(
        _ context: ChannelHandlerContext,
        to target: ProxyHandshake.Target,
        _ socket: HTTPDNSClient.ConnectedSocket
    ) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let activity = TunnelActivity(at: SystemTimeSource().now())
        let ends = NIOLoopBound(TunnelEnd.pair(activity), eventLoop: context.eventLoop)
        // All of it in one turn of the loop: what a server has sent or ended already is reported to the handlers in the next one.
        let server = ClientBootstrap(group: context.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ends.value.server)
                }
            }
            .withConnectedSocket(socket.descriptor)
        server.whenComplete { result in
            let ((handler, context), ends) = (bound.value, ends.value)
            let client = context.channel
            guard case .success(let server) = result, client.isActive,
                (try? client.pipeline.syncOperations.addHandler(ends.client)) != nil
            else {
                handler.shared.gaveUp(target)
                if case .success(let server) = result { server.close(promise: nil) }
                return client.close(promise: nil)
            }
            guard let number = handler.shared.opened(target, socket.endpoint, activity, client: client, server: server)
            else {
                server.close(promise: nil)
                return client.close(promise: nil)
            }
            let shared = handler.shared
            client.closeFuture.whenComplete { _ in shared.closed(number) }
            handler.hand(context, over: ends, server, activity)
        }
    }

    private func hand(
        _ context: ChannelHandlerContext,
        over ends: (client: TunnelEnd, server: TunnelEnd),
        _ server: any Channel,
        _ activity: TunnelActivity
    ) {
        let client = context.channel
        write(handshake.answer(to: .connected), context)
        let rest = handshake.takeRest()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        if !rest.isEmpty {
            activity.count(rest.count, fromServer: false, at: SystemTimeSource().coarseNow())
            server.writeAndFlush(ByteBuffer(bytes: rest), promise: nil)
        }
        if inputHasEnded { ends.server.end(everything: false) }
        server.read()
        client.read()
    }
}

@available(*, unavailable)
extension HandshakeHandler: Sendable {}
#endif
