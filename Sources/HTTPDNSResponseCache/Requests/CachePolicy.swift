// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS

extension HTTPDNSClient {
    /// The use of the response cache for one request. Policies can be combined: `[.doNotRead, .doNotWrite]` bypasses the cache.
    ///
    /// No policy makes the cache use a stale response that its server declares unusable when stale (`must-revalidate`,
    /// `no-cache`).
    public struct CachePolicy: OptionSet, Hashable, Sendable {
        /// The policies as bits.
        public let rawValue: UInt8

        /// Creates a set of policies from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Follows RFC 9111: a stored response is used while it is fresh, and validated when it is stale. This is the default.
        public static let revalidateWhenStale: CachePolicy = []
        /// Sends the request, whatever is stored. Its response is stored.
        public static let doNotRead = CachePolicy(rawValue: 1)
        /// Stores no response to the request. A stored one may be used.
        public static let doNotWrite = CachePolicy(rawValue: 2)
        /// Validates a stored response before its use, also while it is fresh.
        public static let alwaysRevalidate = CachePolicy(rawValue: 4)
        /// Uses a stored response also when it is stale, and sends the request only without one.
        public static let preferStored = CachePolicy(rawValue: 8)
        /// Uses a stored response also when it is stale, and sends nothing. Without one the response has status 504.
        public static let onlyStored = CachePolicy(rawValue: 16)
        /// Uses a stale response when the request fails, or when the server answers with 500, 502, 503 or 504.
        public static let fallBackToStored = CachePolicy(rawValue: 32)
    }

    /// The lifetime of the responses in a cache with a folder. A cache in memory ends with its process.
    public struct CacheLifetime: Hashable, Sendable, CustomStringConvertible {
        /// The name of the lifetime.
        public let description: String

        /// Until a bound of the cache or a newer response removes the response, also after a restart. This is the default.
        public static let permanent = CacheLifetime(description: "permanent")
        /// Until the folder is opened the next time.
        public static let session = CacheLifetime(description: "session")
    }

    /// The settings of one request for the response cache. They have no effect without a cache.
    public struct CacheOptions: Hashable, Sendable {
        /// The use of the cache.
        public var policy = HTTPDNSClient.CachePolicy.revalidateWhenStale
        /// The lifetime of the stored response.
        public var lifetime = HTTPDNSClient.CacheLifetime.permanent
        /// The name of the user or group that the response is for, such as an account's number. Only requests with the same
        /// name get it, and the rules are those of a private cache. Nil means the mode of the cache. Do not use a secret: the
        /// files of the cache contain it.
        public var partition: String?

        /// Creates options that change nothing.
        public init() {}
    }
}

extension HTTPDNSClient.Request {
    private enum CacheProperty: HTTPDNSClient.RequestProperty {
        typealias Value = HTTPDNSClient.CacheOptions
    }

    /// The settings of this request for the response cache, also for the redirects of its call.
    public var cache: HTTPDNSClient.CacheOptions {
        get { self[CacheProperty.self] ?? HTTPDNSClient.CacheOptions() }
        set { self[CacheProperty.self] = newValue }
    }
}
