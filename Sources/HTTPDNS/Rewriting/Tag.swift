// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// The out-of-band mark of a rewritten hop. It is never sent and cannot be made outside the client: header fields,
    /// fragments and texts cannot imitate it.
    ///
    /// It is bound to the rewritten host and port, to the issuing client's mappings, and to an expiry. The expiry is
    /// the remaining time to live of the addresses. It is at least one second, so that an answer for one use (time to
    /// live 0) reaches the next rewriter. It is one minute when the addresses have no expiry of their own.
    public struct Tag: Sendable {
        let content: HTTPDNSRewriter.RewrittenRequest.Content

        /// Whether the tag is valid. A valid tag has not expired, and no setting or mapping of the issuing client has
        /// changed since. The client's kill switch has not turned the name off either.
        public var isValid: Bool {
            content.issuer.generation.number == content.resolution.generation
                && !content.issuer.isOff(content.url.host)
                && content.issuer.timeSource.now() < content.tagExpiry
        }

        /// Returns the expiry of a tag for `resolution`. It is computed in nanoseconds, because a `Duration` has 128
        /// bits of attoseconds and every request computes it.
        static func expiry(of resolution: borrowing HTTPDNSResolver.Resolution, at now: MonotonicTime) -> MonotonicTime
        {
            let left = resolution.nanosecondsLeft
            let life = left == .max ? unlimitedLifetime : max(left, shortestLifetime)
            let (sum, overflow) = now.nanoseconds.addingReportingOverflow(life)
            return MonotonicTime(nanoseconds: overflow ? .max : sum)
        }

        /// One second: long enough to reach the next rewriter in the process.
        private static let shortestLifetime: Int64 = 1_000_000_000
        /// One minute. Until a mapping changes, which the generation shows, it needs no new query. The limit is for
        /// changes that an operator makes in the second client, such as its policy.
        private static let unlimitedLifetime: Int64 = 60_000_000_000
    }
}

/// The parts of a tag's client that are needed for checking and describing it. It keeps no transport and no provider
/// alive.
final class TagIssuer: Sendable {
    let generation: LiveGeneration
    let timeSource: any TimeSource
    private let killSwitch: HTTPDNSResolver.KillSwitch
    private let directory: ProviderDirectory
    private weak let resolver: HTTPDNSResolver?

    init(resolver: HTTPDNSResolver, timeSource: any TimeSource) {
        generation = resolver.liveGeneration
        killSwitch = resolver.killSwitch
        directory = resolver.directory
        self.timeSource = timeSource
        self.resolver = resolver
    }

    /// Whether the client has switched a host off.
    func isOff(_ host: HTTPDNSHost) -> Bool {
        if killSwitch.isFullyOn { return false }
        guard case .name(let name) = host, let resolver else { return !killSwitch.isOn }
        return resolver.switchEntry(for: name) != nil
    }

    /// Returns the scope to which the providers limit an answer; nil when no provider limits it. It is the scope of its
    /// own provider, or the most public one of those that the system resolver replaced.
    func providerScope(of resolution: HTTPDNSResolver.Resolution) -> HTTPDNSAddressPolicy.Scope? {
        if let name = resolution.provider { return directory.scope(of: name) }
        return resolution.isFallback ? resolution.route?.fallbackScope(directory.scope(of:)) : nil
    }

    /// Returns the kind of a provider: `doh`, `json`, or `provider` for kinds outside this library.
    func kind(ofProvider name: String) -> String { directory.kind(of: name) ?? "provider" }
}

extension HTTPDNSRewriter.Tag: HTTPDNSRedacted {
    /// A constant text without the content of the tag.
    public var description: String { "a tag" }
}
