// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
package import HTTPDNSMessages
public import HTTPDNSPrimitives
internal import HTTPTypes

/// A provider for name servers that speak DNS itself (RFC 1035), such as those of a private network.
///
/// A, AAAA and HTTPS records are separate queries. Each tries the servers in turn, beginning with the one that answered last, and
/// each server gets an equal share of the remaining time; SERVFAIL, REFUSED and the like lead to the next one. A server that
/// refuses the connection is not used for five minutes while others answer.
///
/// Over UDP a forger who sees no packets must guess the answer's ID, the port, and the case of each letter of the name
/// (draft-vixie-dnsext-dns0x20), which are random for each query. What is truncated is asked for over TCP (RFC 7766), and so is a query
/// after a message in another case, or after eight messages on its socket that were no answer. A server that changes the case over
/// TCP as well is asked in lower case for an hour.
///
/// A server that rejects EDNS is queried without it for 15 minutes, as ``HTTPDNSDoHProvider`` does.
public final class HTTPDNSDNSProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answerScope``.
    public var answerScope: HTTPDNSAddressPolicy.Scope { configuration.answerScope }

    private let configuration: Configuration
    private let servers: NameServerList
    private let sockets: NameServerSockets
    private let streams: NameServerStreams
    private let time: any TimeSource
    private let plain: PlainServices<HTTPDNSEndpoint>
    /// The time until which servers are asked in lower case.
    private let lowercaseUntil = Lock<[HTTPDNSEndpoint: MonotonicTime]>([:])

    /// The files of search lists.
    private let searchFiles = Lock<[String: NameServerList]>([:])

    /// The usual ports (RFC 1035 section 4.2, RFC 7858 section 3.1).
    static let port: UInt16 = 53
    package static let tlsPort: UInt16 = 853

    /// The time for which the provider remembers that a server changes the case of names.
    static let lowercaseLife = Duration.seconds(3600)

    /// Creates the provider. Nothing is sent before the first query.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` without servers, and for a port of 0.
    public convenience init(_ configuration: Configuration) throws(HTTPDNSProviderConfigurationError) {
        try self.init(configuration, time: SystemTimeSource())
    }

    package init(
        _ configuration: Configuration,
        time: any TimeSource
    ) throws(HTTPDNSProviderConfigurationError) {
        if case .addresses(let servers) = configuration.servers,
            servers.isEmpty || servers.contains(where: { $0.port == 0 })
        {
            throw HTTPDNSProviderConfigurationError(
                provider: configuration.name,
                message: "it needs the addresses of its name servers, with ports from 1 to 65535"
            )
        }
        name = configuration.name
        self.configuration = configuration
        self.time = time
        servers = NameServerList(
            configuration.servers,
            port: configuration.transport == .tls ? Self.tlsPort : Self.port,
            excluding: configuration.excluded,
            time: time
        )
        sockets = NameServerSockets(time: time)
        streams = NameServerStreams(
            HTTPDNSTrust(roots: configuration.trustRoots),
            name: configuration.tlsName?.description,
            time: time
        )
        plain = PlainServices(time: time)
    }

    /// Returns whether the other provider is a DNS provider with equal settings.
    public func isEquivalent(to other: any HTTPDNSProvider) -> Bool {
        (other as? HTTPDNSDNSProvider).map { $0 === self || $0.configuration == configuration } ?? false
    }

    /// Queries every family concurrently, and HTTPS records with them if the query asks for them. Failures and the client subnet
    /// are treated as by ``HTTPDNSDoHProvider``.
    /// - Throws: ``HTTPDNSProviderError`` when no family's query was answered; `CancellationError` when the task is canceled.
    public func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        guard let list = query.search, !query.host.isAbsolute else { return try await questions().answer(to: query) }
        let deadline = time.now() + query.timeLimit
        let (zones, dots) = try await zones(of: list, until: deadline)
        var search = NameSearch(query)
        for name in HTTPDNSSearchList.names(for: query.host, in: zones, dots: list.dots ?? dots) {
            var part = query
            (part.host, part.timeLimit) = (name, deadline - time.now())
            if let answer = search.ended(by: try await questions().answer(to: part), of: name) { return answer }
        }
        return search.answer
    }

    private func zones(of list: HTTPDNSSearchList, until deadline: MonotonicTime) async throws -> (
        [HTTPDNSName], dots: Int
    ) {
        switch list.zones {
        case .names(let names): return (names, 1)
        case .file(let path):
            let file = searchFiles.withLock { files in
                let file = files[path] ?? NameServerList(.file(path), time: time)
                files[path] = file
                return file
            }
            let current = try await file.current(until: deadline).file
            return (current.zones, current.dots)
        }
    }

    /// - Parameters:
    ///   - takesFailures: Whether SERVFAIL, REFUSED and the like are answers, and do not lead to the next server.
    ///   - wishes: What a client that is relayed asks of signatures.
    private func questions(
        takesFailures: Bool = false,
        wishes: DNSSignatureWishes = DNSSignatureWishes()
    ) -> MessageQuestions {
        MessageQuestions(isSecret: false, time: time) { [self] question, subnet, limit, deadline in
            let servers = try await servers.current(until: deadline)
            let transport = servers.file.usesTCP && configuration.transport == .udp ? .tcp : configuration.transport
            return try await servers.addresses.reply(limit: limit, deadline: deadline) { server, deadline in
                try await plain.reply(of: server) { usesEDNS in
                    let query = ServerQuestion(
                        question: question,
                        clientSubnet: subnet,
                        usesEDNS: usesEDNS,
                        wishes: wishes
                    )
                    return try await answer(to: query, at: server, over: transport, deadline)
                }
            } verdict: { reply in
                guard !takesFailures, let code = reply.messageCode, code != .nameError,
                    code != .noError || reply.isReferral(about: question)
                else { return .answer }
                return .nextAddress(reply.messageFailure(code, to: question))
            }
        }
    }

    private struct ServerQuestion {
        var question: DNSQuestion
        var clientSubnet: DNSClientSubnet?
        var usesEDNS: Bool
        var wishes: DNSSignatureWishes

        func query(mixesCase: Bool, isPadded: Bool = false) -> DNSServerQuery {
            var generator = SystemRandomNumberGenerator()
            return DNSServerQuery(
                question,
                clientSubnet: clientSubnet,
                usesEDNS: usesEDNS,
                isPadded: isPadded,
                mixesCase: mixesCase,
                wishes: wishes,
                using: &generator
            )
        }
    }

    /// Returns a server's message for a question.
    private func answer(
        to question: ServerQuestion,
        at server: HTTPDNSEndpoint,
        over transport: Transport,
        _ deadline: MonotonicTime
    ) async throws -> UpstreamReply {
        guard transport != .tls else {
            // The certificate proves the sender: a case of its own proves nothing more.
            let message = try await streams.ask(at: server, deadline: deadline) {
                question.query(mixesCase: false, isPadded: true)
            }
            return UpstreamReply(message: message, from: server, over: .tls)
        }
        let query = question.query(mixesCase: mixesCase(for: server))
        guard transport == .udp else { return try await streamed(query, at: server, deadline) }
        switch try await sockets.ask(query, at: server, over: .udp, deadline: deadline) {
        case .answer(let message): return UpstreamReply(message: message, from: server, over: .udp)
        case .truncated, .unrelated:
            do {
                return try await streamed(query, at: server, deadline)
            } catch let failure as TransferFailure where failure.code == .connectFailed {
                // It answers other questions over UDP.
                throw HTTPDNSProviderError(
                    code: .serverFailure,
                    message: "\(server): its answer over UDP is not whole or not certain; over TCP: \(failure.message)"
                )
            }
        case .otherCase:
            do {
                return try await streamed(query, at: server, deadline - (deadline - time.now()) / 2)
            } catch is TransferFailure {
                // Without TCP the case cannot be checked. A forger with luck must not turn it off.
                let second = question.query(mixesCase: true)
                let start = deadline - (deadline - time.now()) / 2
                if case .answer(let message) = try? await sockets.ask(second, at: server, over: .udp, deadline: start) {
                    return UpstreamReply(message: message, from: server, over: .udp)
                }
                noteLowercase(server)
                let query = question.query(mixesCase: false)
                let reading = try await sockets.ask(query, at: server, over: .udp, deadline: deadline)
                if case .answer(let message) = reading {
                    return UpstreamReply(message: message, from: server, over: .udp)
                }
                throw TransferFailure(
                    code: .protocolViolation,
                    phase: .firstByte,
                    message: "it changes the case of names over UDP, and does not answer over TCP"
                )
            }
        }
    }

    private func streamed(
        _ query: DNSServerQuery,
        at server: HTTPDNSEndpoint,
        _ deadline: MonotonicTime
    ) async throws -> UpstreamReply {
        switch try await sockets.ask(query, at: server, over: .tcp, deadline: deadline) {
        case .answer(let message): return UpstreamReply(message: message, from: server, over: .tcp)
        case .otherCase(let message):
            noteLowercase(server)
            return UpstreamReply(message: message, from: server, over: .tcp)
        case .truncated, .unrelated:
            throw TransferFailure(code: .protocolViolation, phase: .firstByte, message: "no answer to the query")
        }
    }

    /// Asks a question for a client, and returns the message as it came, with ID 0.
    /// - Parameter wishes: What the client asks of signatures.
    /// - Throws: As ``resolve(_:)``.
    package func relay(
        _ question: DNSQuestion,
        wishes: DNSSignatureWishes,
        timeLimit: Duration
    ) async throws -> [UInt8] {
        try await questions(wishes: wishes).reply(question, nil, timeLimit, time.now() + timeLimit).body
    }

    /// Returns whether a query in flight has this question in the same case, which is random: one that arrives here has returned.
    package func isAsking(_ question: [UInt8]) -> Bool { sockets.isAsking(question) }

    private func mixesCase(for server: HTTPDNSEndpoint) -> Bool {
        lowercaseUntil.withLock { $0[server] }.map { $0 <= time.now() } ?? true
    }

    private func noteLowercase(_ server: HTTPDNSEndpoint) {
        let until = time.now() + Self.lowercaseLife
        lowercaseUntil.withLock { $0[server] = until }
    }

    /// Ends the queries in flight, and the thread that waits for them. Idempotent.
    public func shutdown() async {
        ProviderUsers.shared.note(isShutDown: true, self)
        sockets.shutDown()
        streams.shutDown()
    }
}

extension HTTPDNSDNSProvider: RecordProvider {
    package func records(
        for question: DNSQuestion,
        clientSubnet: HTTPDNSAddressBlock?,
        timeLimit: Duration
    ) async throws -> RecordReply {
        try await questions(takesFailures: true)
            .records(for: question, clientSubnet: clientSubnet, timeLimit: timeLimit)
    }
}

extension HTTPDNSDNSProvider: IdentifiedProvider {
    package var serviceTexts: [String] {
        switch configuration.servers {
        case .addresses(let endpoints): endpoints.map(\.description)
        case .file(let path): [path]
        }
    }
}

extension HTTPDNSDNSProvider {
    /// The protocol below DNS.
    public enum Transport: String, Hashable, Sendable, CaseIterable {
        /// Datagrams, and TCP for what is too long for them or not certain.
        case udp
        /// A TCP connection for each query (RFC 7766).
        case tcp
        /// A TLS connection for all queries to a server (RFC 7858). It is closed after 10 s without a query.
        case tls
    }

    /// The source of the servers' addresses.
    public enum Servers: Hashable, Sendable {
        /// These, in the order to try; their usual port is 53, over TLS 853.
        case addresses([HTTPDNSEndpoint])
        /// The servers in the file at a path, in the form of resolv.conf(5), which is read once a second while there are queries.
        ///
        /// All servers of the file are used, and `options use-vc`. Other options, `search` and `domain` are not.
        case file(String)
    }

    /// Settings of name servers.
    public struct Configuration: Hashable, Sendable {
        /// The name of the provider.
        public var name: String
        /// The servers.
        public var servers: Servers
        /// The protocol of a query; the option `use-vc` of a file means ``Transport/tcp`` as well.
        public var transport: Transport = .udp
        /// The name that the certificates of the servers must have, for ``Transport/tls``; nil means their addresses.
        public var tlsName: HTTPDNSName?
        /// The certificate authorities that are trusted for ``Transport/tls``.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope of addresses that its answers may have (``HTTPDNSProvider/answerScope``). Name servers of a
        /// private network need ``HTTPDNSAddressPolicy/Scope/private``.
        public var answerScope: HTTPDNSAddressPolicy.Scope = .public
        /// Servers of a file that are not asked: listeners of this process.
        package var excluded: [HTTPDNSEndpoint] = []

        /// Creates settings with the defaults above.
        public init(name: String, servers: Servers) {
            self.name = name
            self.servers = servers
        }
    }
}
