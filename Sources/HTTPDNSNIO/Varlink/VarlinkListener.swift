// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import Glibc
package import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import NIOCore
internal import NIOPosix

/// A server of `io.systemd.Resolve`, which Debian's libnss-resolve asks for the addresses of names, and of
/// `io.systemd.Resolve.Hook`, by which systemd-resolved (259 and later) asks for records.
///
/// Names that neither a mapping nor a route with providers decides are "not ours": they go on to the next service of
/// `nsswitch.conf`. So are the queries of this process itself, or a lookup at the system resolver would ask itself.
///
/// It has a thread of its own, which decodes, looks into the cache and hands lookups on. Each is replied to within
/// ``Configuration/timeLimit``, whatever the other threads do.
package final class VarlinkListener: Sendable {
    package struct Configuration: Sendable {
        /// The path of the socket.
        package var path: String
        /// The permissions of the socket: the processes that may ask.
        package var mode: UInt32 = 0o666
        /// The time within which each lookup is replied to.
        package var timeLimit = Duration.seconds(2)
        /// See ``ListenerLookup/servesFallback``.
        package var servesFallback = false

        package init(path: String) { self.path = path }
    }

    /// The replies since the start.
    package struct Counters: Hashable, Sendable {
        package var addresses = 0
        package var notOurs = 0
        package var noSuchName = 0
        package var noAddress = 0
        package var failed = 0
        /// The connections beyond the limit of their user, or of all.
        package var refused = 0
    }

    /// The maximum number of connections of a user, each of which has one lookup at a time. Further ones are closed, and their
    /// names go on to the next service.
    static let maximumConnections = 64
    /// That of all users, which leaves descriptors for the providers of a process with the usual limit of 1,024.
    static let maximumConnectionsOfAll = 512
    /// The time after which a connection without a call is closed. libnss-resolve makes one for each lookup.
    private static let idleLimit = TimeAmount.seconds(30)
    /// The time between two looks at what a hook is to be asked for: mappings, routes or the switch may have changed.
    static let filterInterval = TimeAmount.milliseconds(500)

    private let group: MultiThreadedEventLoopGroup
    private let server: any Channel
    private let file: SocketFile
    private let state: VarlinkState

    /// Opens the socket.
    /// - Throws: `SocketFileError`; an error of SwiftNIO when the socket cannot be served.
    package init(_ resolver: HTTPDNSResolver, _ configuration: Configuration) async throws {
        let file = try SocketFile(path: configuration.path, mode: configuration.mode, backlog: 256)
        let state = VarlinkState(resolver, configuration)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            server = try await ServerBootstrap(group: group)
                .childChannelOption(.autoRead, value: false)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let idle = IdleStateHandler(allTimeout: VarlinkListener.idleLimit)
                        try channel.pipeline.syncOperations.addHandlers(idle, VarlinkHandler(state))
                    }
                }
                .withBoundSocket(VarlinkListener.copy(of: file.descriptor)).get()
        } catch {
            file.remove()
            try? await group.shutdownGracefully()
            throw error
        }
        (self.file, self.group, self.state) = (file, group, state)
    }

    /// Returns a copy for SwiftNIO, which closes it. A child process must not inherit it: it would keep the socket alive.
    private static func copy(of descriptor: Int32) throws -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SystemErrorNumber(errno) }
        return copy
    }

    package var counters: Counters { state.shared.withLock { $0.counters } }

    /// Closes all connections and removes the socket's file. To be called once.
    package func shutdown() async {
        file.remove()
        try? await server.close().get()
        try? await group.shutdownGracefully()
    }
}

/// The state that the connections of a listener share.
final class VarlinkState: Sendable {
    struct Shared: Sendable {
        var counters = VarlinkListener.Counters()
        /// The open connections by user.
        var connections: [UInt32: Int] = [:]
    }

    let lookup: ListenerLookup
    let shared = Lock(Shared())

    init(_ resolver: HTTPDNSResolver, _ configuration: VarlinkListener.Configuration) {
        lookup = ListenerLookup(
            resolver: resolver,
            timeLimit: configuration.timeLimit,
            servesFallback: configuration.servesFallback
        )
    }

    func count(_ reply: VarlinkReply) {
        let counter: WritableKeyPath<VarlinkListener.Counters, Int>? =
            switch reply.kind {
            case .addresses: \.addresses
            case .notOurs: \.notOurs
            case .noSuchName: \.noSuchName
            case .noAddress: \.noAddress
            case .failed: \.failed
            case .other: nil
            }
        if let counter { shared.withLock { $0.counters[keyPath: counter] += 1 } }
    }

    /// Notes a connection.
    /// - Returns: Whether it is served.
    func opened(by user: UInt32) -> Bool {
        shared.withLock { state in
            guard state.connections[user, default: 0] < VarlinkListener.maximumConnections,
                state.connections.values.reduce(0, +) < VarlinkListener.maximumConnectionsOfAll
            else {
                state.counters.refused += 1
                return false
            }
            state.connections[user, default: 0] += 1
            return true
        }
    }

    func closed(by user: UInt32) {
        shared.withLock { state in
            let left = (state.connections[user] ?? 1) - 1
            state.connections[user] = left > 0 ? left : nil
        }
    }

    // MARK: lookups

    enum Answer {
        case now(VarlinkReply)
        case later(HTTPDNSResolver.Query, HTTPDNSName)
    }

    /// Returns the reply to a hook's question that needs no wait, or its lookup.
    func hookAnswer(_ keys: [VarlinkRequest.RecordKey]) -> (
        now: VarlinkReply?, later: @Sendable () async -> VarlinkReply
    ) {
        guard let question = HookQuestion(keys) else { return (.hookPasses, { .hookPasses }) }
        let query = lookup.query(question.name, question.family)
        if question.families.isEmpty {
            let reply = lookup.decides(query) ? VarlinkReply.hookNoRecords : .hookPasses
            return (reply, { reply })
        }
        return (
            lookup.immediate(query).map { .hook($0, question) },
            { [lookup] in .hook(await lookup.awaited(query), question) }
        )
    }

    /// Returns the reply that needs no wait, or the query to resolve.
    func answer(_ text: String, _ family: HTTPDNSAddress.Family?) -> Answer {
        guard case .name(let name)? = try? HTTPDNSHost(text) else { return .now(.notOurs) }
        let query = lookup.query(name, family)
        return lookup.immediate(query).map { .now(reply($0, name, query)) } ?? .later(query, name)
    }

    func lookUp(_ query: HTTPDNSResolver.Query, _ name: HTTPDNSName) async -> VarlinkReply {
        reply(await lookup.awaited(query), name, query)
    }

    private func reply(
        _ outcome: ListenerLookup.Outcome,
        _ name: HTTPDNSName,
        _ query: HTTPDNSResolver.Query
    ) -> VarlinkReply {
        switch outcome {
        case .notOurs: .notOurs
        case .failed(let error): .failure(error)
        case .found(let resolution):
            .addresses(resolution.endpoints, of: name, family: query.families.map { $0 == .v4 ? .v4 : .v6 })
        }
    }
}

/// A connection: one call at a time.
private final class VarlinkHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let state: VarlinkState
    private var messages = VarlinkMessages()
    /// The peer, once it is admitted.
    private var peer: PeerCredentials?
    /// The number of the last call, so that its reply is written once.
    private var call = 0
    private var work: Task<Void, Never>?
    private var limit: Scheduled<Void>?
    /// The names that a hook was told to be asked for, while it watches them.
    private var filter: Set<HTTPDNSName>??
    private var filterWatch: RepeatedTask?

    init(_ state: VarlinkState) { self.state = state }

    func channelActive(context: ChannelHandlerContext) {
        guard let provider = context.channel as? any SocketOptionProvider else { return context.close(promise: nil) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let credentials: EventLoopFuture<PeerCredentials> = provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET),
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        credentials.whenComplete { result in
            let (handler, context) = bound.value
            handler.admit(try? result.get(), context)
        }
    }

    private func admit(_ peer: PeerCredentials?, _ context: ChannelHandlerContext) {
        guard let peer, state.opened(by: peer.user) else { return context.close(promise: nil) }
        self.peer = peer
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        work?.cancel()
        limit?.cancel()
        filterWatch?.cancel()
        (work, limit, filterWatch, messages) = (nil, nil, nil, VarlinkMessages())
        if let peer { state.closed(by: peer.user) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard messages.received(unwrapInboundIn(data).readableBytesView) else { return context.close(promise: nil) }
        serveNext(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) { readOn(context) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        serveNext(context)
        readOn(context)
    }

    /// Reads more, from a peer that reads its replies.
    private func readOn(_ context: ChannelHandlerContext) { if context.channel.isWritable { context.read() } }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // One who watches the filter says nothing else.
        if event is IdleStateHandler.IdleStateEvent, filterWatch == nil { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func serveNext(_ context: ChannelHandlerContext) {
        while context.channel.isActive, context.channel.isWritable, let message = messages.next() {
            guard let request = VarlinkRequest(message) else { return context.close(promise: nil) }
            switch request {
            case .oneWay: messages.replied()
            case .other(let method): reply(.notOurs(method), context)
            case .information:
                // By a task: a process whose tasks are all blocked must not look healthy to its watchdog.
                lookUp(context, orAfterLimit: .timedOut) { .information }
            case .filter(let isWatched):
                let zones = state.lookup.resolver.decidedZones
                guard isWatched else {
                    reply(.filter(zones, continues: false), context)
                    continue
                }
                watchFilter(zones, context)
            case .records(let keys):
                guard peer?.process != getpid() else {
                    reply(.hookPasses, context)
                    continue
                }
                let answer = state.hookAnswer(keys)
                if let now = answer.now {
                    reply(now, context)
                } else {
                    lookUp(context, orAfterLimit: .hookTimedOut, answer.later)
                }
            case .hostname(let name, let family):
                guard peer?.process != getpid() else {
                    reply(.notOurs, context)
                    continue
                }
                switch state.answer(name, family) {
                case .now(let answer): reply(answer, context)
                case .later(let query, let name):
                    lookUp(context, orAfterLimit: .timedOut) { [state] in await state.lookUp(query, name) }
                }
            }
        }
    }

    /// Replies with the names to ask for, and again when they have changed, until the connection ends.
    private func watchFilter(_ zones: Set<HTTPDNSName>?, _ context: ChannelHandlerContext) {
        filter = .some(zones)
        context.writeAndFlush(
            wrapOutboundOut(ByteBuffer(bytes: VarlinkReply.filter(zones, continues: true).bytes)),
            promise: nil
        )
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let interval = VarlinkListener.filterInterval
        filterWatch = context.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            let (handler, context) = bound.value
            let zones = handler.state.lookup.resolver.decidedZones
            guard handler.filter != .some(zones), context.channel.isActive else { return }
            handler.filter = .some(zones)
            let reply = VarlinkReply.filter(zones, continues: true)
            context.writeAndFlush(handler.wrapOutboundOut(ByteBuffer(bytes: reply.bytes)), promise: nil)
        }
    }

    private func lookUp(
        _ context: ChannelHandlerContext,
        orAfterLimit timedOut: VarlinkReply,
        _ work: @escaping @Sendable () async -> VarlinkReply
    ) {
        call += 1
        let number = call
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        @Sendable func deliver(_ reply: VarlinkReply) {
            let (handler, context) = bound.value
            guard handler.call == number, handler.limit != nil else { return }
            handler.work?.cancel()
            handler.limit?.cancel()
            (handler.work, handler.limit) = (nil, nil)
            handler.reply(reply, context)
            handler.serveNext(context)
        }
        limit = context.eventLoop.scheduleTask(in: TimeAmount(state.lookup.timeLimit)) { deliver(timedOut) }
        let loop = context.eventLoop
        self.work = Task.detached {
            let reply = await work()
            loop.execute { deliver(reply) }
        }
    }

    private func reply(_ reply: VarlinkReply, _ context: ChannelHandlerContext) {
        state.count(reply)
        messages.replied()
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: reply.bytes)), promise: nil)
    }
}

@available(*, unavailable)
extension VarlinkHandler: Sendable {}
#endif
