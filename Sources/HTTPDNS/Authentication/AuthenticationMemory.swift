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

    /// The uses of a nonce so far.
    private struct Count {
        let nonce: [UInt8]
        /// The client's nonce of the first use, which the session key contains (RFC 7616 section 3.4.2).
        let clientNonce: String
        var uses: UInt32 = 0
    }

    private struct State {
        /// The folders for which a Basic credential was accepted.
        var folders: [String] = []
        /// The challenge whose nonce is in force.
        var challenge: DigestChallenge?
        var counts: [Count] = []

        func covers(_ path: String) -> Bool { folders.contains { path.hasPrefix($0) } }

        mutating func forget(_ nonce: [UInt8]) {
            if challenge?.nonce == nonce { challenge = nil }
        }

        /// - Parameter uses: The uses of the nonce so far, if they are no longer known.
        mutating func use(_ challenge: DigestChallenge, _ clientNonce: String, from uses: UInt32 = 0) -> Use? {
            let index: Int
            if let known = counts.firstIndex(where: { $0.nonce == challenge.nonce }) {
                index = known
            } else {
                if counts.count >= AuthenticationMemory.maximumNonces { counts.removeFirst() }
                counts.append(Count(nonce: challenge.nonce, clientNonce: clientNonce, uses: uses))
                index = counts.count - 1
            }
            // The count has eight digits (RFC 7616 section 3.4), and no value may be sent twice.
            guard counts[index].uses < .max else {
                forget(challenge.nonce)
                return nil
            }
            counts[index].uses += 1
            return Use(
                challenge: challenge,
                count: counts[index].uses,
                clientNonce: challenge.isSession ? counts[index].clientNonce : clientNonce
            )
        }
    }

    /// The most folders that are kept for Basic.
    private static let maximumFolders = 16
    /// The most nonces whose uses are counted. Concurrent requests may answer as many challenges.
    static let maximumNonces = 64

    private let state = Lock(State())

    /// Returns whether a Basic credential was accepted for this path.
    func covers(_ path: String) -> Bool { state.withLock { $0.covers(path) } }

    /// Notes a path for which a Basic credential was accepted: its folder, the path up to its last slash (RFC 7617 section 2.2).
    func accept(_ path: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
        let folder = String(path[...slash])
        state.withLock { state in
            guard !state.covers(path) else { return }
            state.folders.removeAll { $0.hasPrefix(folder) }
            if state.folders.count >= AuthenticationMemory.maximumFolders { state.folders.removeFirst() }
            state.folders.append(folder)
        }
    }

    /// Forgets the paths of a Basic credential.
    func forgetPaths() { state.withLock { $0.folders = [] } }

    /// Returns the next use of the nonce in force; nil when there is none for this path.
    func next(for path: String, at origin: HTTPDNSClient.Origin) -> Use? {
        let clientNonce = DigestAnswer.newClientNonce()
        return state.withLock { state in
            guard let challenge = state.challenge, challenge.covers(path, at: origin) else { return nil }
            return state.use(challenge, clientNonce)
        }
    }

    /// Puts the nonce of a challenge in force, and returns a use of it.
    func take(_ challenge: DigestChallenge) -> Use? {
        let clientNonce = DigestAnswer.newClientNonce()
        return state.withLock { state in
            state.challenge = challenge
            return state.use(challenge, clientNonce)
        }
    }

    /// Puts the nonce of a challenge in force, for the requests after one that cannot be sent again.
    func keep(_ challenge: DigestChallenge) { state.withLock { $0.challenge = challenge } }

    /// Returns the answer with another use of its nonce; nil when the nonce cannot be used any more.
    func next(after answer: DigestAnswer) -> DigestAnswer? {
        let challenge = answer.challenge
        let clientNonce = challenge.isSession ? answer.clientNonce : DigestAnswer.newClientNonce()
        // The count of the nonce may have been dropped since, for those of newer ones.
        guard let use = state.withLock({ $0.use(challenge, clientNonce, from: answer.count) }) else { return nil }
        var answer = answer
        (answer.count, answer.clientNonce) = (use.count, use.clientNonce)
        return answer
    }

    /// Replaces a nonce with the next one of the server. Nothing changes when it is no longer in force.
    func replace(_ nonce: [UInt8], with next: [UInt8]) {
        state.withLock { state in
            // The session key belongs to the first nonce.
            guard let challenge = state.challenge, challenge.nonce == nonce, !challenge.isSession else { return }
            if let changed = challenge.with(nonce: next) { state.challenge = changed }
        }
    }

    /// Forgets a nonce that was refused.
    func forget(_ nonce: [UInt8]) { state.withLock { $0.forget(nonce) } }
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
