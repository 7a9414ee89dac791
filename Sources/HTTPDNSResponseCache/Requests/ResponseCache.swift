// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSCore
public import HTTPDNSPrimitives
public import HTTPTypes
package import Logging

extension HTTPDNSClient {
    /// A cache of responses by RFC 9111, in memory or in a folder. Several clients may share one.
    ///
    /// ```swift
    /// var configuration = HTTPDNSClient.Configuration()
    /// configuration.responseCache = .memory()
    /// ```
    ///
    /// The key of a response is the URL of its request. So a mapping that moves a host to another address loses no response.
    public final class ResponseCache: Sendable {
        private struct Control: Sendable {
            var counters = Counters()
            var isOffline = false
        }

        /// The settings.
        public let settings: Settings
        let store: any HTTPDNSResponseStore
        /// The store in memory, whose hits do not wait; nil for another one.
        let memory: ResponseStore?
        /// The access to the folder; nil for another store.
        let access: FolderAccess?
        /// The fetches in progress.
        let fetches = FetchTable()
        /// The requests in flight that may store a response.
        let reads: ReadCoalescer<FetchKey, Void>
        let clock: WallClock
        let time: any TimeSource
        /// The rules of both modes.
        let (sharedRules, privateRules): (CacheRules, CacheRules)
        /// The settings of a file that opened the cache; nil for a cache of the program.
        private let origin: (any Hashable & Sendable)?
        private let control: SharedControl

        /// The part that the store reports to, so that it does not own the cache.
        private final class SharedControl: Sendable {
            let state = Lock(Control())
        }

        init(
            _ settings: Settings,
            folder: (path: String, times: FolderAccess.Times, pool: ThreadPool)? = nil,
            store foreign: (store: any HTTPDNSResponseStore, times: FolderAccess.Times)? = nil,
            clock: WallClock,
            time: any TimeSource,
            origin: (any Hashable & Sendable)? = nil
        ) {
            self.origin = origin
            let control = SharedControl()
            access = folder.map { path, times, pool in
                FolderAccess(path, nil, times, time: time, pool: pool) {
                    control.state.withLock { $0.counters.folderOutages += 1 }
                }
            }
            self.settings = settings
            (sharedRules, privateRules) = (settings.rules(.shared), settings.rules(.private))
            self.control = control
            self.clock = clock
            self.time = time
            reads = ReadCoalescer(clock: time)
            if let (foreign, times) = foreign {
                memory = nil
                store = GuardedStore(
                    foreign,
                    maximumEntry: settings.maximumEntryBytes,
                    times,
                    clock: clock,
                    time: time
                ) {
                    control.state.withLock { $0.counters.storeFailures += 1 }
                }
                return
            }
            let own = ResponseStore(
                settings.limits,
                maximumEntry: settings.maximumEntryBytes,
                access: access,
                clock: clock
            ) { evicted, damaged in
                control.state.withLock { state in
                    state.counters.evicted += UInt64(evicted)
                    state.counters.damaged += UInt64(damaged)
                }
            }
            (store, memory) = (own, access == nil ? own : nil)
        }

        private let ownSalt = CacheSalt()

        /// The salt of digests of secrets: that of the folder as soon as it is open.
        var salt: CacheSalt { access?.opened?.salt ?? ownSalt }

        /// Returns a cache on a store of the program. The store has the bounds: of the settings, `limit` and `maximumEntries` have
        /// no effect.
        ///
        /// Responses to requests with credentials, and those with a `Vary` field that names `Authorization` or `Cookie`, are stored
        /// under digests that only this cache finds. The lifetime `session` stores nothing.
        public static func using(_ store: any HTTPDNSResponseStore, _ settings: Settings = Settings()) -> ResponseCache
        {
            ResponseCache(settings, store: (store, FolderAccess.Times()), clock: .system, time: SystemTimeSource())
        }

        /// Returns a cache in memory.
        public static func memory(_ settings: Settings = Settings()) -> ResponseCache {
            ResponseCache(settings, clock: .system, time: SystemTimeSource())
        }

        /// Opens a cache in a folder, with the responses that it has. The folder is created when it is missing, and its files
        /// are for this user alone.
        ///
        /// A damaged, unreadable or unfinished file is removed. The folder is in use until the cache and all its readers are
        /// released.
        ///
        /// While the folder is not available, responses are stored in memory, at most 64 MiB: when another process or cache
        /// uses it, when it does not respond, and when the system refuses to open it for a reason that may pass. The cache
        /// tries to open it again every 30 s, with the next request.
        /// - Parameters:
        ///   - folder: A path whose parent folder exists. The folder belongs to this user, and no other user may open it.
        ///   - settings: The settings.
        /// - Throws: ``HTTPDNSClient/ResponseCache/Error`` for a path or permissions with which the folder can never be used;
        ///   `CancellationError`.
        public static func disk(_ folder: String, _ settings: Settings = Settings()) async throws -> ResponseCache {
            try await disk(folder, settings, clock: .system, time: SystemTimeSource())
        }

        /// Opens a cache.
        /// - Parameters:
        ///   - times: The limits of the folder, which a test changes, and `pool` its threads.
        ///   - origin: The settings of a file that open it; nil for a cache of the program.
        static func disk(
            _ path: String,
            _ settings: Settings,
            _ times: FolderAccess.Times = FolderAccess.Times(),
            pool: ThreadPool = FolderAccess.makePool(),
            clock: WallClock,
            time: any TimeSource,
            origin: (any Hashable & Sendable)? = nil,
            logger: Logger? = nil
        ) async throws -> ResponseCache {
            let cache = ResponseCache(
                settings,
                folder: (path, times, pool),
                clock: clock,
                time: time,
                origin: origin
            )
            cache.access?.take(logger)
            try await (cache.store as? ResponseStore)?.open()
            return cache
        }

        /// Whether responses are stored in a folder. It is false for a cache in memory, and while the folder is not available.
        public var isFolderInUse: Bool { access?.isInUse ?? false }

        /// Whether the cache acts as if there were no network: a stored GET or HEAD response is served, and every other
        /// request fails with ``HTTPDNSClientError/Code/offline``. A program switches it.
        public var isOffline: Bool {
            get { control.state.withLock { $0.isOffline } }
            set { control.state.withLock { $0.isOffline = newValue } }
        }

        package var identity: any Hashable & Sendable { origin ?? ObjectIdentifier(self) }

        package func open(_ logger: Logger?) -> any ResponseCaching {
            access?.take(logger)
            (store as? GuardedStore)?.take(logger)
            return self
        }

        package var removals: [String: Int] {
            let counters = counters
            return ["evicted": Int(clamping: counters.evicted), "damaged": Int(clamping: counters.damaged)]
        }

        /// The counters since the cache was opened.
        public var counters: Counters { control.state.withLock { $0.counters } }

        func count(_ change: (inout Counters) -> Void) { control.state.withLock { change(&$0.counters) } }

        /// The number of stored responses.
        public var entryCount: Int { store.size.entries }
        /// The number of bytes of all stored responses with their fields.
        public var byteCount: HTTPDNSByteCount { .bytes(store.size.bytes) }

        /// Removes all responses, with their files. A body that is being read is read to its end, and a response that is being
        /// received is not stored.
        public func removeAll() async { await invalidate(nil) }

        /// Removes all responses of a URL, with all variants and partitions, and with their files. A response that is being
        /// received is not stored.
        /// - Parameter url: The URL in any spelling. An unreadable one removes nothing.
        public func remove(url: String) async {
            guard let canonical = try? HTTPDNSRewriter.Canonicalizer.canonicalize(url) else { return }
            await invalidate(key(of: canonical))
        }

        /// Removes the responses that a closure selects, with their files. Responses that are stored meanwhile may be missed.
        /// Responses of a folder that was not available so far are removed all.
        public func removeAll(where isSelected: (StoredResponse) -> Bool) async {
            try? await store.remove(.several(await storedResponses.filter(isSelected).map(\.entry)))
        }

        /// The stored responses, in no order.
        public var storedResponses: [StoredResponse] { get async { (try? await store.responses(.all)) ?? [] } }

        /// Removes the responses of a URL, or all for nil, and those that are being fetched will not be stored.
        func invalidate(_ url: String?, until time: ReadTime = ReadTime()) async {
            fetches.invalidate(url)
            try? await store.remove((url.map(Selection.url) ?? .all).until(time))
        }

        /// Returns the URL as a key.
        func key(of url: HTTPDNSRewriter.CanonicalURL) -> String {
            settings.equivalentURL?(url.description) ?? url.description
        }
    }
}

extension HTTPDNSClient.ResponseCache {
    /// The rules about sharing responses between users.
    public struct Mode: Hashable, Sendable, CustomStringConvertible {
        let mode: CacheRules.Mode
        /// The name of the mode.
        public var description: String { mode == .shared ? "shared" : "private" }

        /// The rules of a shared cache: for a program that sends requests of many users. This is the default.
        ///
        /// Responses with `private`, `Set-Cookie` or `Set-Cookie2` are not stored, nor are those to requests with `Cookie`. A
        /// response to a request with `Authorization` is stored only with `public`, `s-maxage` or `must-revalidate`. It is
        /// then for requests with the same value and for requests without one, and never for another value.
        public static let shared = Mode(mode: .shared)
        /// The rules of a private cache: for a program of one user. A response to a request with `Authorization` or `Cookie`
        /// is only for requests with the same values, which are stored as a digest. The cookies of a response are stored with
        /// it, and a hit has them in its fields without adding them to the cookie jar.
        public static let `private` = Mode(mode: .private)
    }

    /// The settings of a response cache.
    public struct Settings: Sendable {
        /// The rules about sharing responses between users.
        public var mode = Mode.shared
        /// The most bytes of all stored responses with their fields. When it is reached, responses without a recent use are
        /// removed.
        public var limit = HTTPDNSByteCount.mebibytes(64)
        /// The longest stored response; nil means half of ``limit``.
        public var maximumEntry: HTTPDNSByteCount?
        /// The value of ``maximumEntry`` in bytes, or its default.
        var maximumEntryBytes: Int { maximumEntry?.bytes ?? max(limit.bytes / 2, 1) }
        /// The maximum number of stored responses.
        public var maximumEntries = 10_000
        /// The time since its arrival or its last validation after which a response is not used any more. It is removed when
        /// it is looked for, when responses are counted or listed, and when a folder is opened. Each response that is stored
        /// checks 16 others, so at most ``maximumEntries`` / 16 more responses are stored before it is removed.
        public var maximumAge = Duration.seconds(30 * 86_400)
        /// The longest lifetime that is guessed, from `Last-Modified`, for a response that declares none. Zero guesses none.
        public var maximumGuessedLifetime = Duration.seconds(86_400)
        /// Whether a stored response is served when a request fails before it reaches a server: its name has no address, or no
        /// address accepts a connection.
        public var servesWhenUnreachable = false
        /// Whether ``servesWhenUnreachable`` and ``HTTPDNSClient/ResponseCache/isOffline`` also serve responses that their
        /// server wants validated before each use (`must-revalidate`, `no-cache`).
        public var offlineIgnoresValidation = false
        /// The longest time that a request waits for another one that fetches the same response. Afterwards it is sent too.
        public var refreshWait = Duration.seconds(5)
        /// A closure that returns the same text for URLs with the same response, such as the URL without a parameter that has
        /// no meaning. It gets the URL in canonical form. Nil means that each URL has a response of its own. It is called once
        /// or twice for each request and must be fast.
        public var equivalentURL: (@Sendable (String) -> String)?
        /// A closure that may refuse to store a response that the rules permit to store; nil refuses none.
        public var mayStore: (@Sendable (HTTPDNSClient.Request, HTTPResponse) -> Bool)?

        /// Creates the defaults.
        public init() {}

        var limits: ResponseIndex.Limits {
            ResponseIndex.Limits(bytes: limit.bytes, entries: maximumEntries, age: milliseconds(maximumAge))
        }

        func rules(_ mode: CacheRules.Mode) -> CacheRules {
            CacheRules(
                mode: mode,
                heuristicLimit: milliseconds(maximumGuessedLifetime),
                keepsForOffline: servesWhenUnreachable,
                offlineIgnoresValidation: offlineIgnoresValidation
            )
        }

        private func milliseconds(_ duration: Duration) -> Int64 { max(0, duration.wholeNanoseconds / 1_000_000) }
    }

    /// The counters of a response cache.
    public struct Counters: Hashable, Sendable {
        /// The GET and HEAD requests that reached the cache.
        public var requests: UInt64 = 0
        /// The requests that a fresh stored response answered.
        public var hits: UInt64 = 0
        /// The requests that a stored response answered after the server had validated it.
        public var validated: UInt64 = 0
        /// The requests that the server answered.
        public var misses: UInt64 = 0
        /// The requests that a stale response answered.
        public var stale: UInt64 = 0
        /// The requests that a stored response answered because there was no network.
        public var offline: UInt64 = 0
        /// The requests that had no stored response and were not to be sent.
        public var unavailable: UInt64 = 0
        /// The responses that were stored.
        public var stored: UInt64 = 0
        /// The responses to GET requests that were not stored, for any reason. Beside those of the next three counters
        /// these are: the status, `Vary: *`, no lifetime and no validator, a body that is too long, the policy
        /// `doNotWrite`, a change of the client's settings meanwhile, a credential, a cookie or a field named by `Vary`
        /// that a network interceptor changed, a redirect that the server of another URL answered, and
        /// ``HTTPDNSClient/ResponseCache/Settings/mayStore``.
        public var notStored: UInt64 = 0
        /// The number of ``notStored`` with cookies in the request or the response, in the mode `shared`. A cookie jar gives all later
        /// requests of a site a cookie.
        public var notStoredForCookies: UInt64 = 0
        /// The number of ``notStored`` whose request had a credential: the response did not permit a shared cache to store it, or
        /// the credential was for that request alone, as of Digest.
        public var notStoredForCredentials: UInt64 = 0
        /// The number of ``notStored`` with `no-store`, or with `private` in the mode `shared`.
        public var notStoredByDirective: UInt64 = 0
        /// The validations in the background.
        public var backgroundRefreshes: UInt64 = 0
        /// The responses that were removed because of a bound.
        public var evicted: UInt64 = 0
        /// The stored responses whose file was damaged, missing or, when the folder was opened, unreadable.
        public var damaged: UInt64 = 0
        /// The times that the folder became unavailable: it did not respond, or could not be opened. Responses are stored in memory
        /// then.
        public var folderOutages: UInt64 = 0
        /// The calls of a program's store that ended with an error, or were given up after a wait.
        public var storeFailures: UInt64 = 0

        /// Creates counters of zero.
        public init() {}

        /// Counts a response that is not stored.
        mutating func note(_ refusal: Storability.Refusal) {
            notStored += 1
            switch refusal {
            case .cookies: notStoredForCookies += 1
            case .authorization: notStoredForCredentials += 1
            case .directive: notStoredByDirective += 1
            case .other: break
            }
        }

        /// Counts a response.
        mutating func note(_ source: HTTPDNSClient.CacheSource) {
            switch source {
            case .hit: hits += 1
            case .validated: validated += 1
            case .stale: stale += 1
            case .offline: offline += 1
            case .unavailable: unavailable += 1
            default: misses += 1
            }
        }
    }

    /// The error of a folder that cannot be used.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The path of the folder.
        public let path: String
        /// The message, with the path and a way to solve the problem.
        public let message: String
        /// The message without the path.
        let reason: String
        /// Whether the reason may pass without other settings or permissions.
        let isPassing: Bool
        /// The message.
        public var description: String { message }
    }
}

extension HTTPDNSClient.Configuration {
    /// The cache of responses; nil, the default, for none. A reload does not change it.
    public var responseCache: HTTPDNSClient.ResponseCache? {
        get { responseCaching as? HTTPDNSClient.ResponseCache }
        set { responseCaching = newValue }
    }
}

extension HTTPDNSClient {
    /// The cache of responses of this client; nil without one. It is also the one that a file's `client.response_cache` opened.
    public var responseCache: HTTPDNSClient.ResponseCache? { openResponseCache as? HTTPDNSClient.ResponseCache }
}

/// The settings of a cache in a file, which a client opens when it is made.
package struct ResponseCacheSettings: ResponseCacheSource, Hashable {
    /// The folder; nil for a cache in memory.
    package var folder: String?
    package var isShared = true
    package var limit = HTTPDNSByteCount.mebibytes(64)
    package var maximumEntries = 10_000
    package var maximumAge = Duration.seconds(30 * 86_400)
    package var servesWhenUnreachable = false

    package init() {}

    package var identity: any Hashable & Sendable { self }

    package func open(_ logger: Logger?) async throws -> any ResponseCaching {
        var settings = HTTPDNSClient.ResponseCache.Settings()
        settings.mode = isShared ? .shared : .private
        settings.limit = limit
        settings.maximumEntries = maximumEntries
        settings.maximumAge = maximumAge
        settings.servesWhenUnreachable = servesWhenUnreachable
        let time = SystemTimeSource()
        if let folder {
            return try await HTTPDNSClient.ResponseCache.disk(
                folder,
                settings,
                clock: .system,
                time: time,
                origin: self,
                logger: logger
            )
        }
        return HTTPDNSClient.ResponseCache(
            settings,
            clock: .system,
            time: time,
            origin: self
        )
    }
}
