// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The use of a credential by one hop, with the requests that it takes.
protocol AuthorizationRun {
    /// Returns the authorization of the next request; nil to send the request without one.
    /// - Parameter deadline: The end of waits.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed`; `CancellationError`.
    mutating func authorization(until deadline: MonotonicTime?) async throws -> RequestAuthorization?

    /// Takes the challenges of a refused request, for this request and later ones. It waits for no user code that may
    /// send requests: the response still has its connection.
    /// - Parameter mayRepeat: Whether the request can be sent again.
    /// - Returns: Whether it is to be sent again.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed`; `CancellationError`.
    mutating func learn(from challenges: [AuthenticationChallenge], mayRepeat: Bool) async throws -> Bool

    /// Takes what the server says with any other response.
    /// - Parameter information: The parameters of `Authentication-Info`.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed` for a wrong proof of the server.
    mutating func accept(_ information: [String: [UInt8]]) throws

    /// Returns the reason why none of several challenges can be answered; nil when one can, whatever the server decides.
    func refusal(of challenges: [AuthenticationChallenge]) -> String?
}

/// The use of a Basic credential.
struct BasicRun: AuthorizationRun {
    let login: HTTPDNSClient.Credential.Login
    let memory: AuthenticationMemory
    let target: AuthorizationTarget
    private var isSent: Bool
    private var isChallenged = false

    init(
        _ login: HTTPDNSClient.Credential.Login,
        isPreemptive: Bool,
        memory: AuthenticationMemory,
        target: AuthorizationTarget
    ) {
        self.login = login
        self.memory = memory
        self.target = target
        isSent = isPreemptive || memory.covers(target.path)
    }

    mutating func authorization(until deadline: MonotonicTime?) async throws -> RequestAuthorization? {
        guard isSent else { return nil }
        let password = try await target.secret(login.password, until: deadline)
        if let fault = BasicCredential.fault(user: login.user, password: password, in: "the credential") {
            throw target.failure(fault)
        }
        return RequestAuthorization(BasicCredential.value(user: login.user, password: password), at: target.origin)
    }

    mutating func learn(from challenges: [AuthenticationChallenge], mayRepeat: Bool) async throws -> Bool {
        guard !isSent else {
            memory.forgetPaths()
            return false
        }
        // Nothing of the challenge is in the answer.
        isChallenged = challenges.contains { $0.scheme == "basic" }
        guard mayRepeat else {
            if isChallenged { memory.accept(target.path) }
            return false
        }
        isSent = isChallenged
        return isChallenged
    }

    mutating func accept(_ information: [String: [UInt8]]) {
        if isChallenged { memory.accept(target.path) }
    }

    func refusal(of challenges: [AuthenticationChallenge]) -> String? {
        challenges.contains { $0.scheme == "basic" } ? nil : "none of them is a Basic challenge"
    }
}

/// The use of a Digest credential.
struct DigestRun: AuthorizationRun {
    let login: HTTPDNSClient.Credential.Login
    let memory: AuthenticationMemory
    let target: AuthorizationTarget
    /// Whether the request body can be hashed before it is sent.
    let isBodyReadable: Bool
    /// Returns the hash of the request body; nil when it cannot be read before.
    let bodyHash: (DigestHash.Function, MonotonicTime?) async throws -> String?

    /// The use of the nonce for the next request.
    private var use: AuthenticationMemory.Use?
    /// The authorization of the last request.
    private var last: RequestAuthorization?
    /// Whether the nonce in use is from a challenge to this hop.
    private var isChallenged = false
    /// Whether a challenge to this hop was stale.
    private var wasStale = false

    init(
        _ login: HTTPDNSClient.Credential.Login,
        memory: AuthenticationMemory,
        target: AuthorizationTarget,
        isBodyReadable: Bool,
        bodyHash: @escaping (DigestHash.Function, MonotonicTime?) async throws -> String?
    ) {
        self.login = login
        self.memory = memory
        self.target = target
        self.isBodyReadable = isBodyReadable
        self.bodyHash = bodyHash
        use = memory.next(for: target.path, at: target.origin)
    }

    mutating func authorization(until deadline: MonotonicTime?) async throws -> RequestAuthorization? {
        last = nil
        guard let use else { return nil }
        var bodyHash: String?
        if use.challenge.protection == .authInt {
            bodyHash = try await self.bodyHash(use.challenge.function, deadline)
            guard bodyHash != nil else { return nil }
        }
        let answer = DigestAnswer(
            challenge: use.challenge,
            user: login.user,
            password: try await target.secret(login.password, until: deadline),
            method: target.method.rawValue,
            target: target.text,
            count: use.count,
            clientNonce: use.clientNonce,
            bodyHash: bodyHash
        )
        last = RequestAuthorization(answer, countedBy: memory, at: target.origin)
        return last
    }

    mutating func learn(from challenges: [AuthenticationChallenge], mayRepeat: Bool) async throws -> Bool {
        let refused = last?.answer?.challenge
        if let refused { memory.forget(refused.nonce) }
        guard var challenge = DigestChallenge.strongest(of: challenges) else { return false }
        // The protection space of a proxy is the whole proxy (RFC 7616 section 3.3).
        if target.isProxy { challenge.domain = nil }
        if let refused {
            if isChallenged {
                // Another nonce cannot help a wrong password.
                guard challenge.isStale, !wasStale else { return false }
            } else {
                // The nonce is from an earlier request. Some servers do not mark an old one as stale.
                guard challenge.isStale || challenge.nonce != refused.nonce else { return false }
            }
        } else if isChallenged {
            // There was no answer to the last challenge, because its body cannot be hashed.
            return false
        }
        guard mayRepeat, isBodyReadable || challenge.protection != .authInt else {
            memory.keep(challenge)
            return false
        }
        wasStale = isChallenged && challenge.isStale
        isChallenged = true
        use = memory.take(challenge)
        return use != nil
    }

    func refusal(of challenges: [AuthenticationChallenge]) -> String? {
        DigestChallenge.strongest(of: challenges) == nil ? DigestChallenge.refusal(of: challenges) : nil
    }

    mutating func accept(_ information: [String: [UInt8]]) throws {
        guard let answer = last?.answer else { return }
        func word(_ name: String) -> String? {
            information[name].map { String(decoding: $0, as: UTF8.self).lowercasedASCII }
        }
        if let proof = word("rspauth"), word("qop") ?? "auth" == "auth",
            let expected = answer.expectedServerProof, proof != expected
        {
            memory.forget(answer.challenge.nonce)
            throw target.failure(
                "its proof (rspauth, RFC 7616 section 3.5) does not match the password",
                hint: "the response may be of another server, or was changed on its way"
            )
        }
        if let next = information["nextnonce"] { memory.replace(answer.challenge.nonce, with: next) }
    }
}

/// The use of a Bearer credential whose tokens a closure gets.
struct BearerRun: AuthorizationRun {
    let tokens: BearerTokens
    let target: AuthorizationTarget
    let time: any TimeSource
    private var use: BearerTokens.Use?
    /// The token that was requested after a refusal.
    private var renewal: BearerTokens.Demand?

    init(_ tokens: BearerTokens, target: AuthorizationTarget, time: any TimeSource) {
        self.tokens = tokens
        self.target = target
        self.time = time
    }

    mutating func authorization(until deadline: MonotonicTime?) async throws -> RequestAuthorization? {
        guard let demand = renewal ?? tokens.demand(on: time) else { return nil }
        do {
            let use = try await tokens.token(demand, until: deadline, orClosing: target.ending)
            self.use = use
            return RequestAuthorization("Bearer \(use.text)", at: target.origin)
        } catch is CancellationError where Task.isCancelled {
            throw CancellationError()
        } catch let error as HTTPDNSClientError where error.code == .shutDown && target.ending.isClosed {
            throw error
        } catch {
            throw target.failure(of: error, until: deadline)
        }
    }

    mutating func learn(from challenges: [AuthenticationChallenge], mayRepeat: Bool) async throws -> Bool {
        guard let refused = use?.number, renewal == nil, challenges.mayMeanToken else { return false }
        guard mayRepeat else {
            tokens.refuse(refused, on: time)
            return false
        }
        renewal = tokens.demand(after: refused, on: time)
        return renewal != nil
    }

    mutating func accept(_ information: [String: [UInt8]]) {}

    func refusal(of challenges: [AuthenticationChallenge]) -> String? { nil }
}

/// The use of a Bearer credential whose token another program renews.
struct FixedTokenRun: AuthorizationRun {
    let secret: HTTPDNSSecret
    let target: AuthorizationTarget
    private var text: String?
    private var isReadAgain = false
    private var deadline: MonotonicTime?

    init(_ secret: HTTPDNSSecret, target: AuthorizationTarget) {
        self.secret = secret
        self.target = target
    }

    mutating func authorization(until deadline: MonotonicTime?) async throws -> RequestAuthorization? {
        self.deadline = deadline
        if text == nil { text = try await read() }
        return text.map { RequestAuthorization("Bearer \($0)", at: target.origin) }
    }

    mutating func learn(from challenges: [AuthenticationChallenge], mayRepeat: Bool) async throws -> Bool {
        guard mayRepeat, !isReadAgain, challenges.mayMeanToken else { return false }
        isReadAgain = true
        let refused = text
        text = try await read()
        return text != refused
    }

    mutating func accept(_ information: [String: [UInt8]]) {}

    func refusal(of challenges: [AuthenticationChallenge]) -> String? { nil }

    private func read() async throws -> String {
        let text = try await target.secret(secret, until: deadline)
        guard HTTPDNSClient.Credential.Token.isSendable(text) else {
            throw target.failure(of: UnsendableToken(), until: nil)
        }
        return text
    }
}

extension [AuthenticationChallenge] {
    /// Whether another Bearer token may be accepted: some servers send no challenge at all. A token with too few rights, or
    /// a malformed request, needs no other token (RFC 6750 section 3.1).
    fileprivate var mayMeanToken: Bool {
        guard let challenge = first(where: { $0.scheme == "bearer" }) else { return isEmpty }
        return !["insufficient_scope", "invalid_request"].contains(challenge.word("error"))
    }
}

/// The request that a credential is for.
struct AuthorizationTarget: Sendable {
    let origin: HTTPDNSClient.Origin
    /// The origin or the proxy, for errors.
    let server: String
    let host: String
    let method: HTTPRequest.Method
    /// The request target as Digest protects it.
    let text: String
    /// The path, without the query.
    let path: String
    /// Closed when a shutdown ends the calls that are left.
    let ending: CallGate
    /// Whether a proxy asks, and not the origin.
    var isProxy = false

    /// Returns a secret.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed`, `timedOut` at the deadline, or `shutDown`;
    ///   `CancellationError`.
    func secret(_ secret: HTTPDNSSecret, until deadline: MonotonicTime?) async throws -> String {
        do {
            return try await secret.current(until: deadline, orClosing: ending)
        } catch let error as SecretError {
            guard error.isOverdue else { throw failure("\(error)") }
            throw HTTPDNSClientError.overdue(error, of: host)
        }
    }

    /// Returns an error with code `authenticationFailed`.
    func failure(_ reason: String, hint: String? = nil, underlying: (any Error)? = nil) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .authenticationFailed,
            phase: .authentication,
            message: "authentication at \(server) failed: \(reason)",
            host: host,
            hint: hint,
            mayHaveBeenSent: false,
            underlying: underlying
        )
    }

    /// Returns the error of a token that cannot be had. The text of the closure's error is not repeated: it may contain a
    /// secret.
    fileprivate func failure(of error: any Error, until deadline: MonotonicTime?) -> HTTPDNSClientError {
        switch error {
        case is RenewalOverdue where deadline.map { SystemTimeSource().now() >= $0 } ?? false:
            .callOverdue(
                .authentication,
                "the deadline passed while a token for \(server) was awaited",
                host: host,
                hint: "the closure of the bearer credential must return within the time of a call"
            )
        case is RenewalOverdue: failure("the closure of the bearer credential returned no token within 30 s")
        case is UnsendableToken:
            failure(
                "the token is empty or has characters other than visible ASCII",
                hint: "leave out spaces and line ends"
            )
        default:
            failure(
                "the closure of the bearer credential threw an error",
                hint: "it is in underlying",
                underlying: error
            )
        }
    }
}

extension HTTPDNSSecret {
    /// Returns the secret, and waits for a file no longer than until a gate is closed.
    /// - Throws: `SecretError`; ``HTTPDNSClientError`` with code `shutDown`; `CancellationError`.
    func current(until deadline: MonotonicTime?, orClosing gate: CallGate) async throws -> String {
        guard isInFile else { return try read() }
        return try await gate.value { try await current(until: deadline) }
    }
}
