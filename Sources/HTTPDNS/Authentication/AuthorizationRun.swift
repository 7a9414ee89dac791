// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The use of a credential by one hop, with the requests that it takes.
protocol AuthorizationRun {
    /// Returns the value of the field for the next request; nil to send the request without it.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed`; `CancellationError`.
    mutating func fieldValue() async throws -> String?

    /// Decides about the challenges of a refused request.
    /// - Returns: Whether the request is sent again.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed`; `CancellationError`.
    mutating func isAnswered(_ challenges: [AuthenticationChallenge]) async throws -> Bool

    /// Takes what the server says with any other response.
    /// - Parameter information: The parameters of `Authentication-Info`.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed` for a wrong proof of the server.
    mutating func accept(_ information: [String: String]) throws
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

    mutating func fieldValue() async throws -> String? {
        guard isSent else { return nil }
        let password = try await target.secret(login.password)
        if let fault = BasicCredential.fault(user: login.user, password: password, in: "the credential") {
            throw HTTPDNSClientError.authenticationFailed(target, fault)
        }
        return BasicCredential.value(user: login.user, password: password)
    }

    mutating func isAnswered(_ challenges: [AuthenticationChallenge]) async throws -> Bool {
        guard !isSent else {
            memory.forgetPaths()
            return false
        }
        isChallenged = challenges.contains { $0.scheme == "basic" && $0.token68 == nil }
        isSent = isChallenged
        return isChallenged
    }

    mutating func accept(_ information: [String: String]) {
        if isChallenged { memory.accept(target.path) }
    }
}

/// The use of a Digest credential.
struct DigestRun: AuthorizationRun {
    let login: HTTPDNSClient.Credential.Login
    let memory: AuthenticationMemory
    let target: AuthorizationTarget
    /// Returns the hash of the request body; nil for a body that can be read once only.
    let bodyHash: (DigestHash.Function) async throws -> String?

    /// The use of the nonce for the next request.
    private var use: AuthenticationMemory.Use?
    private var answer: DigestAnswer?
    /// Whether the nonce in use is from a challenge to this hop.
    private var isChallenged = false
    /// Whether a challenge to this hop was stale.
    private var wasStale = false

    init(
        _ login: HTTPDNSClient.Credential.Login,
        memory: AuthenticationMemory,
        target: AuthorizationTarget,
        bodyHash: @escaping (DigestHash.Function) async throws -> String?
    ) {
        self.login = login
        self.memory = memory
        self.target = target
        self.bodyHash = bodyHash
        use = memory.next(for: target.path, at: target.origin)
    }

    mutating func fieldValue() async throws -> String? {
        answer = nil
        guard let use else { return nil }
        var bodyHash: String?
        if use.challenge.protection == .authInt {
            bodyHash = try await self.bodyHash(use.challenge.function)
            guard bodyHash != nil else { return nil }
        }
        let answer = DigestAnswer(
            challenge: use.challenge,
            user: login.user,
            password: try await target.secret(login.password),
            method: target.method.rawValue,
            target: target.text,
            count: use.count,
            clientNonce: use.clientNonce,
            bodyHash: bodyHash
        )
        self.answer = answer
        return answer.fieldValue
    }

    mutating func isAnswered(_ challenges: [AuthenticationChallenge]) async throws -> Bool {
        let refused = answer?.challenge
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
        if challenge.protection == .authInt, try await bodyHash(challenge.function) == nil { return false }
        wasStale = isChallenged && challenge.isStale
        isChallenged = true
        use = memory.take(challenge)
        return use != nil
    }

    mutating func accept(_ information: [String: String]) throws {
        guard let answer else { return }
        if let proof = information["rspauth"], (information["qop"] ?? "auth").asciiLowercased == "auth",
            let expected = answer.expectedServerProof, proof.asciiLowercased != expected
        {
            memory.forget(answer.challenge.nonce)
            throw HTTPDNSClientError.authenticationFailed(
                target,
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
    let deadline: MonotonicTime?
    private var use: BearerTokens.Use?
    private var isRenewed = false

    init(_ tokens: BearerTokens, target: AuthorizationTarget, time: any TimeSource, until deadline: MonotonicTime?) {
        self.tokens = tokens
        self.target = target
        self.time = time
        self.deadline = deadline
    }

    mutating func fieldValue() async throws -> String? {
        if use == nil { use = try await token(after: nil) }
        return use.map { "Bearer \($0.text)" }
    }

    mutating func isAnswered(_ challenges: [AuthenticationChallenge]) async throws -> Bool {
        guard let refused = use, !isRenewed, challenges.mayMeanToken else { return false }
        isRenewed = true
        use = try await token(after: refused.number)
        return use != nil
    }

    mutating func accept(_ information: [String: String]) {}

    private func token(after refused: UInt64?) async throws -> BearerTokens.Use? {
        do {
            return try await tokens.token(after: refused, on: time, until: deadline)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw HTTPDNSClientError.noToken(target, error, until: deadline)
        }
    }
}

/// The use of a Bearer credential whose token another program renews.
struct FixedTokenRun: AuthorizationRun {
    let secret: HTTPDNSClient.Credential.Secret
    let target: AuthorizationTarget
    private var text: String?
    private var isReadAgain = false

    init(_ secret: HTTPDNSClient.Credential.Secret, target: AuthorizationTarget) {
        self.secret = secret
        self.target = target
    }

    mutating func fieldValue() async throws -> String? {
        if text == nil { text = try await read() }
        return text.map { "Bearer \($0)" }
    }

    mutating func isAnswered(_ challenges: [AuthenticationChallenge]) async throws -> Bool {
        guard !isReadAgain, challenges.mayMeanToken else { return false }
        isReadAgain = true
        let refused = text
        text = try await read()
        return text != refused
    }

    mutating func accept(_ information: [String: String]) {}

    private func read() async throws -> String {
        let text = try await target.secret(secret)
        guard HTTPDNSClient.Credential.Token.isSendable(text) else {
            throw HTTPDNSClientError.noToken(target, UnsendableToken(), until: nil)
        }
        return text
    }
}

extension [AuthenticationChallenge] {
    /// Whether another Bearer token may be accepted: some servers send no challenge at all. A token with too few rights, or
    /// a malformed request, needs no other token (RFC 6750 section 3.1).
    fileprivate var mayMeanToken: Bool {
        guard let challenge = first(where: { $0.scheme == "bearer" }) else { return isEmpty }
        return !["insufficient_scope", "invalid_request"].contains(challenge.parameters["error"])
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
    /// Whether a proxy asks, and not the origin.
    var isProxy = false

    /// Returns a secret.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed`; `CancellationError`.
    func secret(_ secret: HTTPDNSClient.Credential.Secret) async throws -> String {
        do {
            return try await secret.value.current()
        } catch let error as SecretError {
            throw HTTPDNSClientError.authenticationFailed(self, "\(error)")
        }
    }
}

extension HTTPDNSClientError {
    static func authenticationFailed(_ target: AuthorizationTarget, _ reason: String, hint: String? = nil)
        -> HTTPDNSClientError
    {
        HTTPDNSClientError(
            code: .authenticationFailed,
            phase: .authentication,
            message: "authentication at \(target.server) failed: \(reason)",
            host: target.host,
            hint: hint
        )
    }

    /// Returns the error of a token that cannot be had. The text of the closure's error is not repeated: it may contain a
    /// secret.
    static func noToken(_ target: AuthorizationTarget, _ error: any Error, until deadline: MonotonicTime?)
        -> HTTPDNSClientError
    {
        switch error {
        case is RenewalOverdue where deadline.map { SystemTimeSource().now() >= $0 } ?? false:
            var overdue = HTTPDNSClientError(
                code: .timedOut,
                phase: .authentication,
                message: "the deadline passed while a token for \(target.server) was awaited",
                host: target.host,
                hint: "the closure of the bearer credential must return within the time of a call"
            )
            overdue.isCallDeadline = true
            return overdue
        case is RenewalOverdue:
            return authenticationFailed(target, "the closure of the bearer credential returned no token within 30 s")
        case is UnsendableToken:
            return authenticationFailed(
                target,
                "the token is empty or has characters other than visible ASCII",
                hint: "leave out spaces and line ends"
            )
        default:
            var failed = authenticationFailed(
                target,
                "the closure of the bearer credential threw an error",
                hint: "it is in underlying"
            )
            failed.underlying = error
            return failed
        }
    }
}
