// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSClient.CookieJar {
    /// The maximum numbers of cookies. At a limit, expired cookies go first, and then the cookie that was used least
    /// recently. In a domain with too many cookies, those without `Secure` go before the others (RFC 6265bis section
    /// 5.7).
    public struct Limits: Hashable, Sendable {
        /// The maximum number of cookies of one domain, 1 to 100,000.
        public var maximumPerDomain = 50
        /// The maximum number of cookies in the jar, 1 to 100,000.
        public var maximum = 3000

        /// The values that each limit may have: a removal compares all cookies.
        package static let range = 1...100_000

        /// Creates the defaults, which RFC 6265bis section 6.1 recommends.
        public init() {}

        /// Creates limits. Numbers outside the range become the nearest number in it when a jar is made.
        public init(maximumPerDomain: Int, maximum: Int) {
            self.maximumPerDomain = maximumPerDomain
            self.maximum = maximum
        }

        var atLeastOne: Limits {
            func clamped(_ number: Int) -> Int { min(max(number, Limits.range.lowerBound), Limits.range.upperBound) }
            return Limits(maximumPerDomain: clamped(maximumPerDomain), maximum: clamped(maximum))
        }
    }

    /// The reason why a `Set-Cookie` field was ignored (RFC 6265bis sections 5.6 and 5.7). Compare with `==`; new
    /// versions may add reasons.
    public struct Rejection: Error, Hashable, Sendable, CustomStringConvertible {
        /// A short text from a bounded set, suitable for a metric label.
        public let description: String

        /// The field has a control character.
        public static let controlCharacter = Rejection(description: "control-character")
        /// Name and value have more than 4096 bytes, or the path has more than 1024. Without a `Path` attribute it is
        /// that of the URL.
        public static let tooLarge = Rejection(description: "too-large")
        /// Name and value are empty.
        public static let empty = Rejection(description: "empty")
        /// The `Domain` attribute has a byte outside ASCII; a name is written in A-labels there.
        public static let domainNotASCII = Rejection(description: "domain-not-ascii")
        /// The `Domain` attribute is neither the host nor a domain that contains it.
        public static let foreignDomain = Rejection(description: "foreign-domain")
        /// The `Domain` attribute is a public suffix, such as `com`.
        public static let publicSuffix = Rejection(description: "public-suffix")
        /// The `Domain` attribute is another name than the host, and libpsl, which has the public suffixes, is missing.
        public static let noPublicSuffixList = Rejection(description: "no-public-suffix-list")
        /// The cookie is `Secure`, and the response came in clear text.
        public static let secureFromClearText = Rejection(description: "secure-from-clear-text")
        /// The response came in clear text, and the jar has a `Secure` cookie of that name.
        public static let overlaysSecure = Rejection(description: "overlays-secure")
        /// The cookie has `SameSite=None` without `Secure`.
        public static let sameSiteNoneWithoutSecure = Rejection(description: "same-site-none-without-secure")
        /// The name begins with `__Secure-` or `__Host-`, in any case, and the attributes are not those that it
        /// promises.
        public static let prefix = Rejection(description: "prefix")
    }

    /// An error of a jar's file.
    public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of an error. Compare with `==`; new versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short text from a bounded set, suitable for a metric label.
            public let description: String

            /// The file cannot be read, or other users can read or write it.
            public static let unreadable = Code(description: "unreadable")
            /// The file has other content than cookies. It is never replaced.
            public static let foreign = Code(description: "foreign")
            /// The file has a format of another version. It is never replaced.
            public static let unsupportedVersion = Code(description: "unsupported-version")
            /// A line cannot be read.
            public static let damaged = Code(description: "damaged")
            /// The file cannot be written. The earlier one is unchanged.
            public static let unwritable = Code(description: "unwritable")
        }

        /// The kind of the error.
        public let code: Code
        /// The path of the file.
        public let path: String
        /// The number of the line, from 1; nil for an error of the whole file.
        public let line: Int?
        /// The cause of the error, and the way to correct it. It has nothing of a cookie.
        public let reason: String

        init(_ code: Code, _ path: String, _ line: Int?, _ reason: String) {
            self.code = code
            self.path = path
            self.line = line
            self.reason = reason
        }

        /// The path, the line and the reason in one line.
        public var description: String {
            let place = path.escaped(limit: 200) + (line.map { ":\($0)" } ?? "")
            return "the cookie file \(place) is \(code): \(reason)"
        }
    }

    /// The condition of a jar at one moment.
    public struct Status: Hashable, Sendable {
        /// The number of cookies that have not expired.
        public let cookies: Int
        /// The number of domains that they belong to.
        public let domains: Int
        /// The number of `Set-Cookie` fields that were accepted since the jar was made.
        public let stored: UInt64
        /// The number of fields that were ignored since the jar was made, by reason.
        public let rejected: [Rejection: UInt64]
        /// The number of cookies that the limits have removed since the jar was made.
        public let evicted: UInt64
        /// Whether there is a list of public suffixes. Without it each cookie is for one host alone: a `Domain`
        /// attribute other than the host is ``Rejection/noPublicSuffixList``.
        public let hasPublicSuffixes: Bool
        /// The source of the list, such as `libpsl 0.21.2`, or the reason why there is none.
        public let publicSuffixSource: String
        /// The path of the file; nil for a jar in memory.
        public let file: String?
        /// Whether the file has all persistent cookies. True as well for a jar in memory.
        public let isSaved: Bool
        /// The error of the last write; nil after a successful one.
        public let saveFailure: FileError?
        /// The lines that could not be read when the file was loaded.
        public let damage: [FileError]
    }
}
