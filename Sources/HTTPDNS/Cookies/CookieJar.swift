// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
internal import HTTPTypes
public import Logging

extension HTTPDNSClient {
    /// A store of cookies by the rules of RFC 6265bis (draft-ietf-httpbis-rfc6265bis).
    ///
    /// Cookies belong to the name in the URL of a request: not to an address, and not to the target of a mapping. Two
    /// names on one address share no cookie. A name that moves to another address keeps its cookies.
    ///
    /// A jar is safe to use from any number of tasks, and several clients may share one. Give it to a client in
    /// ``HTTPDNSClient/Configuration/cookies``.
    public final class CookieJar: Sendable {
        private struct State {
            var store: CookieStore
            var stored: UInt64 = 0
            var rejected: [Rejection: UInt64] = [:]
            /// The number of changes that the file should have, and of those that it has.
            var changes: UInt64 = 0
            var savedChanges: UInt64 = 0
            var isSaveScheduled = false
            /// Whether the file was read. Before that it is not replaced.
            var isLoaded = false
            var damage: [FileError] = []
            var saveFailure: FileError?
        }

        private let state: Lock<State>
        private let file: CookieFile?
        private let work: SerialWork
        /// The longest wait for the file.
        private let patience: Duration
        let suffixes: PublicSuffixes
        private let wallClock: WallClock
        private let time: any TimeSource
        private let logger: Logger?

        /// The most saves that wait for a file system that hangs.
        private static let maximumWaiting = 64

        /// The time for which changes are collected before the file is written.
        static let saveDelay = Duration.seconds(1)

        /// Creates an empty jar in memory.
        public convenience init(limits: Limits = Limits()) { self.init(limits: limits, file: nil) }

        /// Creates a jar whose persistent cookies survive a restart in a file.
        ///
        /// A missing file is an empty jar. It is created with mode 0600 when the first persistent cookie arrives, in a
        /// folder that must exist. A change is written after a second, by a new file that replaces the old one, so that
        /// a full disk or a crash leaves the old content; a file that is a mount of its own is written in place, and an
        /// error or a crash can leave a part of both. Session cookies are not written. A line that cannot be read
        /// is listed in ``Status/damage``, and the next write removes it. Of several processes with one file the last
        /// writer wins.
        /// - Parameters:
        ///   - path: The path of the file. A relative path starts at the working directory at the time of each access.
        ///   - limits: The maximum numbers of cookies.
        ///   - logger: The logger for a file that is damaged or cannot be written; nil means no log.
        /// - Throws: ``FileError`` for a file that cannot be read within 30 s, that other users can read or write, or that has
        ///   other content; `CancellationError`.
        public convenience init(file path: String, limits: Limits = Limits(), logger: Logger? = nil) async throws {
            self.init(limits: limits, file: path, logger: logger)
            try await load()
        }

        init(
            limits: Limits,
            file path: String?,
            suffixes: PublicSuffixes = .system,
            wallClock: WallClock = .system,
            time: any TimeSource = SystemTimeSource(),
            logger: Logger? = nil,
            work: SerialWork = SerialWork(on: ThreadPool.files),
            patience: Duration = SmallFile.patience
        ) {
            let limits = limits.atLeastOne
            state = Lock(State(store: CookieStore(limits)))
            file = path.map { CookieFile($0, limits) }
            self.suffixes = suffixes
            self.wallClock = wallClock
            self.time = time
            self.logger = logger
            self.work = work
            self.patience = patience
        }

        // MARK: contents

        /// The cookies that have not expired, in the order of their creation.
        public var cookies: [Cookie] {
            let now = wallClock.now()
            return state.withLock { state in
                state.store.removeExpired(at: now)
                return state.store.all
            }.map(Cookie.init)
        }

        /// Returns the cookies that a GET request to a URL would have, in the order of its `Cookie` field. It counts as
        /// a use of the cookies.
        /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`.
        public func cookies(for url: String) throws -> [Cookie] {
            let url = CookieURL(try HTTPDNSRewriter.Canonicalizer.canonicalize(url).parsed)
            let now = wallClock.now()
            return state.withLock { $0.store.cookies(for: url, at: now) }.map(Cookie.init)
        }

        /// Processes the value of one `Set-Cookie` field, as if a response from a URL had it. A cookie with a time of
        /// expiry in the past deletes the cookie of the same name, domain and path.
        /// - Returns: The reason why the field was ignored; nil when it was not.
        /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`.
        @discardableResult
        public func store(_ setCookie: String, from url: String) throws -> Rejection? {
            let url = CookieURL(try HTTPDNSRewriter.Canonicalizer.canonicalize(url).parsed)
            return store(Array(setCookie.utf8), from: url)
        }

        /// Removes a cookie, whatever value it has now.
        public func remove(_ cookie: Cookie) { change { $0.remove(cookie.stored.key)?.expiry != nil } }

        /// Removes all cookies.
        public func removeAll() { change { $0.removeAll { _ in true } } }

        /// Removes the cookies without a time of expiry: RFC 6265bis leaves it to programs when a session ends. A jar
        /// that is released has ended its session too.
        public func removeSessionCookies() { change { $0.removeAll { $0.expiry == nil } } }

        /// - Parameter change: Returns whether a persistent cookie has changed.
        private func change(_ change: (inout CookieStore) -> Bool) {
            let isScheduled = state.withLock { state in change(&state.store) && noteChange(&state) }
            if isScheduled { saveLater() }
        }

        // MARK: requests and responses

        /// Processes a `Set-Cookie` field.
        @discardableResult
        func store(_ field: some Collection<UInt8>, from url: CookieURL) -> Rejection? {
            let parsed: SetCookie
            do throws(Rejection) {
                parsed = try SetCookie(field)
            } catch {
                state.withLock { $0.rejected[error, default: 0] += 1 }
                return error
            }
            let now = wallClock.now()
            let (rejection, isScheduled) = state.withLock { state -> (Rejection?, Bool) in
                switch state.store.store(parsed, from: url, suffixes, at: now) {
                case .rejected(let reason):
                    state.rejected[reason, default: 0] += 1
                    return (reason, false)
                case .done(let changesFile):
                    state.stored += 1
                    return (nil, changesFile && noteChange(&state))
                }
            }
            if isScheduled { saveLater() }
            return rejection
        }

        /// Returns the value of the `Cookie` field of a request; nil without cookies.
        func field(for url: CookieURL, hasCrossedSites: Bool, isSafe: Bool) -> [UInt8]? {
            let now = wallClock.now()
            let cookies = state.withLock {
                $0.store.cookies(for: url, hasCrossedSites: hasCrossedSites, isSafe: isSafe, at: now)
            }
            guard !cookies.isEmpty else { return nil }
            var text: [UInt8] = []
            for cookie in cookies {
                if !text.isEmpty { text += [UInt8(ascii: ";"), UInt8(ascii: " ")] }
                if !cookie.key.name.isEmpty { text += cookie.key.name + [UInt8(ascii: "=")] }
                text += cookie.value
            }
            return text
        }

        // MARK: the file

        /// Reads the file. A cookie that is in the jar already is newer than that of the file.
        /// - Throws: ``FileError``, `CancellationError`.
        func load() async throws {
            guard let file else { return }
            let content = try await onThread(.unreadable) { try file.read() }
            let now = wallClock.now()
            state.withLock { state in
                for cookie in content.cookies where !cookie.isExpired(at: now) && !state.store.contains(cookie.key) {
                    _ = state.store.insert(cookie, at: now)
                }
                state.damage = content.damage
                state.isLoaded = true
            }
            guard let first = content.damage.first else { return }
            logger?.warning(
                "cookies of a file are damaged",
                metadata: ["lines": "\(content.damage.count)", "first": "\(first)"]
            )
        }

        /// Writes the file now, if a persistent cookie has changed since it was written. A jar in memory does nothing.
        /// - Throws: ``FileError``; the earlier file is still there then, and the cookies are still in the jar;
        ///   `CancellationError` when the task is canceled; the file may still be written.
        public func save() async throws {
            guard let file, state.withLock({ $0.changes != $0.savedChanges }) else { return }
            // Each save that waits behind one that hangs keeps its work.
            guard work.waitingCount < CookieJar.maximumWaiting else {
                throw FileError(.unwritable, file.path, nil, "\(SharedReadError.overdue)")
            }
            if !state.withLock({ $0.isLoaded }) { try await load() }
            do {
                try await onThread(.unwritable) { [self] in
                    // Taken here: of two saves the later one then has the newer cookies.
                    let (cookies, changes) = state.withLock { state in
                        state.store.removeExpired(at: wallClock.now())
                        return (state.store.all, state.changes)
                    }
                    try file.write(cookies)
                    state.withLock { state in
                        state.savedChanges = max(state.savedChanges, changes)
                        state.saveFailure = nil
                    }
                }
            } catch let error as FileError {
                state.withLock { $0.saveFailure = error }
                logger?.warning("cookies cannot be saved", metadata: ["error": "\(error)"])
                throw error
            }
        }

        /// Notes a change that the file should have.
        /// - Returns: Whether the caller must call ``saveLater()`` after the lock.
        private func noteChange(_ state: inout State) -> Bool {
            guard file != nil else { return false }
            state.changes += 1
            guard !state.isSaveScheduled else { return false }
            state.isSaveScheduled = true
            return true
        }

        /// Writes the file after a while. The jar is kept until then, so that a released one loses nothing.
        private func saveLater() {
            CallWork.detached { [self] in
                try? await time.sleep(until: time.now() + CookieJar.saveDelay)
                state.withLock { $0.isSaveScheduled = false }
                // The failure is in the status and in the log. The next change tries again.
                try? await save()
            }
        }

        private func onThread<Value: Sendable>(
            _ code: FileError.Code,
            _ body: @escaping @Sendable () throws -> Value
        ) async throws -> Value {
            do {
                return try await work.run(until: SystemTimeSource().now() + patience, body)
            } catch is SerialWork.Overdue {
                throw FileError(code, file?.path ?? "", nil, "\(SharedReadError.overdue)")
            } catch is SerialWork.NoThread {
                let reason = "the system gives no thread for it; check the limit of processes (ulimit -u)"
                throw FileError(code, file?.path ?? "", nil, reason)
            }
        }

        /// The counts of the jar, the source of the public suffixes, and the state of the file.
        public var status: Status {
            let now = wallClock.now()
            return state.withLock { state in
                state.store.removeExpired(at: now)
                return Status(
                    cookies: state.store.count,
                    domains: state.store.domainCount,
                    stored: state.stored,
                    rejected: state.rejected,
                    evicted: state.store.evicted,
                    hasPublicSuffixes: suffixes.isAvailable,
                    publicSuffixSource: suffixes.source,
                    file: file?.path,
                    isSaved: state.changes == state.savedChanges,
                    saveFailure: state.saveFailure,
                    damage: state.damage
                )
            }
        }
    }
}

extension HTTPDNSClient.CookieJar: HTTPDNSRedacted {
    /// The number of cookies and the path of the file.
    public var description: String {
        let status = status
        return "\(status.cookies) cookies" + (status.file.map { ", file \($0.escaped(limit: 200))" } ?? "")
    }
}
