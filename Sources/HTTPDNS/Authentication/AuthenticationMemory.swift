// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The memory of a credential at one origin or proxy: what to send before the next challenge.
final class AuthenticationMemory: Sendable {
    /// A use of a nonce.
    struct Use: Sendable {
        let challenge: DigestChallenge
        let count: UInt32
        let clientNonce: String
    }

    private let state = Lock(AuthenticationMemoryState())

    /// Returns whether a Basic credential was accepted for this path.
    func covers(_ path: String) -> Bool { state.withLock { $0.covers(path) } }

    /// Notes a path for which a Basic credential was accepted.
    func accept(_ path: String) { state.withLock { $0.accept(path) } }

    /// Forgets the paths of a Basic credential.
    func forgetPaths() { state.withLock { $0.forgetPaths() } }

    /// Returns the next use of the nonce in force; nil when there is none for this path.
    func next(for path: String, at origin: HTTPDNSClient.Origin) -> Use? {
        let clientNonce = DigestAnswer.newClientNonce()
        return state.withLock { $0.next(for: path, at: origin, clientNonce) }
    }

    /// Puts the nonce of a challenge in force, and returns a use of it.
    func take(_ challenge: DigestChallenge) -> Use? {
        let clientNonce = DigestAnswer.newClientNonce()
        return state.withLock { $0.take(challenge, clientNonce) }
    }

    /// Puts the nonce of a challenge in force, for the requests after one that cannot be sent again.
    func keep(_ challenge: DigestChallenge) { state.withLock { $0.keep(challenge) } }

    /// Returns the answer with another use of its nonce; nil when the nonce cannot be used any more.
    func next(after answer: DigestAnswer) -> DigestAnswer? {
        let clientNonce = DigestAnswer.newClientNonce()
        guard let use = state.withLock({ $0.next(after: answer, clientNonce) }) else { return nil }
        var answer = answer
        (answer.count, answer.clientNonce) = (use.count, use.clientNonce)
        return answer
    }

    /// Replaces a nonce with the next one of the server. Nothing changes when it is no longer in force.
    func replace(_ nonce: [UInt8], with next: [UInt8]) { state.withLock { $0.replace(nonce, with: next) } }

    /// Forgets a nonce that was refused.
    func forget(_ nonce: [UInt8]) { state.withLock { $0.forget(nonce) } }
}

/// The state of ``AuthenticationMemory``, as a value.
struct AuthenticationMemoryState {
    /// The uses of a nonce so far.
    private struct Count {
        let nonce: [UInt8]
        /// The client's nonce of the first use, which the session key contains (RFC 7616 section 3.4.2).
        let clientNonce: String
        var uses: UInt32 = 0
    }

    /// The most folders that are kept for Basic.
    static let maximumFolders = 16
    /// The most nonces whose uses are counted. Concurrent requests may answer as many challenges.
    static let maximumNonces = 64

    private var folders: [String] = []
    private var challenge: DigestChallenge?
    private var counts: [Count] = []

    func covers(_ path: String) -> Bool { folders.contains { path.hasPrefix($0) } }

    /// A folder is the path up to its last slash (RFC 7617 section 2.2).
    mutating func accept(_ path: String) {
        guard !covers(path), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
        let folder = String(path[...slash])
        folders.removeAll { $0.hasPrefix(folder) }
        if folders.count >= AuthenticationMemoryState.maximumFolders { folders.removeFirst() }
        folders.append(folder)
    }

    mutating func forgetPaths() { folders = [] }

    mutating func next(for path: String, at origin: HTTPDNSClient.Origin, _ clientNonce: String)
        -> AuthenticationMemory.Use?
    {
        guard let challenge, challenge.covers(path, at: origin) else { return nil }
        return use(challenge, clientNonce)
    }

    mutating func take(_ challenge: DigestChallenge, _ clientNonce: String) -> AuthenticationMemory.Use? {
        self.challenge = challenge
        return use(challenge, clientNonce)
    }

    mutating func keep(_ challenge: DigestChallenge) { self.challenge = challenge }

    mutating func next(after answer: DigestAnswer, _ clientNonce: String) -> AuthenticationMemory.Use? {
        // The count of the nonce may have been dropped since, for those of newer ones.
        use(answer.challenge, answer.challenge.isSession ? answer.clientNonce : clientNonce, from: answer.count)
    }

    mutating func replace(_ nonce: [UInt8], with next: [UInt8]) {
        // The session key belongs to the first nonce.
        guard let challenge, challenge.nonce == nonce, !challenge.isSession else { return }
        if let changed = challenge.with(nonce: next) { self.challenge = changed }
    }

    mutating func forget(_ nonce: [UInt8]) {
        if challenge?.nonce == nonce { challenge = nil }
    }

    /// - Parameter uses: The uses of the nonce so far, if they are no longer known.
    private mutating func use(_ challenge: DigestChallenge, _ clientNonce: String, from uses: UInt32 = 0)
        -> AuthenticationMemory.Use?
    {
        let index: Int
        if let known = counts.firstIndex(where: { $0.nonce == challenge.nonce }) {
            index = known
        } else {
            if counts.count >= AuthenticationMemoryState.maximumNonces { counts.removeFirst() }
            counts.append(Count(nonce: challenge.nonce, clientNonce: clientNonce, uses: uses))
            index = counts.count - 1
        }
        // The count has eight digits (RFC 7616 section 3.4), and no value may be sent twice.
        guard counts[index].uses < .max else {
            forget(challenge.nonce)
            return nil
        }
        counts[index].uses += 1
        return AuthenticationMemory.Use(
            challenge: challenge,
            count: counts[index].uses,
            clientNonce: challenge.isSession ? counts[index].clientNonce : clientNonce
        )
    }
}

extension DigestChallenge {
    /// Whether requests for a path get the credential without a challenge (RFC 7616 section 3.3, `domain`). URIs of other
    /// origins are ignored: a server cannot name another one.
    func covers(_ path: String, at origin: HTTPDNSClient.Origin) -> Bool {
        guard let domain else { return true }
        return domain.contains { uri in
            if uri.hasPrefix("/") { return path.hasPrefix(uri) }
            guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(uri).parsed else { return false }
            return HTTPDNSClient.Origin(url) == origin && path.hasPrefix(url.target)
        }
    }
}

/// The memories of a client, by origin or proxy and credential.
final class AuthenticationMemories: Sendable {
    /// The owner of a challenge.
    struct Key: Hashable, Sendable {
        /// The text of the origin or of the proxy. No two of them have the same.
        let server: String
        let credential: HTTPDNSClient.Credential
    }

    /// The most memories. A client with more, from credentials of requests, forgets all: each costs one challenge.
    private static let maximum = 1024

    private let memories = Lock<[Key: AuthenticationMemory]>([:])

    /// Returns the memory of a credential, a new one for the first use.
    func memory(of credential: HTTPDNSClient.Credential, at server: String) -> AuthenticationMemory {
        let key = Key(server: server, credential: credential)
        // Forgotten credentials hold objects of callers: they are released after the lock.
        let (memory, _): (AuthenticationMemory, [Key: AuthenticationMemory]) = memories.withLock { memories in
            if let known = memories[key] { return (known, [:]) }
            let forgotten = memories.count >= AuthenticationMemories.maximum ? memories : [:]
            if !forgotten.isEmpty { memories = [:] }
            let memory = AuthenticationMemory()
            memories[key] = memory
            return (memory, forgotten)
        }
        return memory
    }
}
