internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// The out-of-band mark of a hop that was rewritten. It never goes on the wire and cannot be made outside the client:
    /// header fields, fragments and texts of any kind do not amount to one.
    ///
    /// It is bound to the host and port that were rewritten, to the issuing client's mappings, and to an expiry: the time to
    /// live that the addresses had left, at least one second so that an answer for one use (time to live 0) survives the way
    /// to the next stage, and one minute where the addresses have no expiry of their own.
    public struct Tag: Sendable {
        let content: HTTPDNSRewriter.RewrittenRequest.Content

        /// Whether the mark still holds: not expired, no setting or mapping of the issuing client has changed since, and its
        /// kill switch has not turned the name off.
        public var isValid: Bool {
            content.issuer.generation.number == content.resolution.generation
                && !content.issuer.isOff(content.url.host)
                && content.issuer.timeSource.now() < content.tagExpiry
        }

        /// Until when a mark on `resolution` holds. In whole nanoseconds: a `Duration` counts in 128 bits of attoseconds, and
        /// this is on the way of every request.
        static func expiry(of resolution: borrowing HTTPDNSResolver.Resolution, at now: MonotonicTime) -> MonotonicTime
        {
            let left = resolution.nanosecondsLeft
            let life = left == .max ? unlimitedLifetime : max(left, shortestLifetime)
            let (sum, overflow) = now.nanoseconds.addingReportingOverflow(life)
            return MonotonicTime(nanoseconds: overflow ? .max : sum)
        }

        /// One second: long enough for the way from one stage to the next, in-process.
        private static let shortestLifetime: Int64 = 1_000_000_000
        /// One minute. A mapping needs no asking anew until it changes, which the generation notices; the bound is for what
        /// an operator changes in the second client, such as its policy.
        private static let unlimitedLifetime: Int64 = 60_000_000_000
    }
}

/// The client behind a tag, as far as checking and describing needs it. It keeps no transport and no provider alive.
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

    /// Whether the client has a host switched off.
    func isOff(_ host: HTTPDNSHost) -> Bool {
        if killSwitch.isFullyOn { return false }
        guard case .name(let name) = host, let resolver else { return !killSwitch.isOn }
        return resolver.off(for: name) != nil
    }

    /// The scope that the providers behind an answer limit it to: its own provider's, or the most public one of those that
    /// the system resolver answered in place of. Nil when no provider limits it.
    func providerScope(of resolution: HTTPDNSResolver.Resolution) -> HTTPDNSAddressPolicy.Scope? {
        if let name = resolution.provider { return directory.scope(of: name) }
        return resolution.isFallback ? resolution.route?.fallbackScope(directory.scope(of:)) : nil
    }

    /// What kind of provider a name stands for: `doh`, `json`, or `provider` for kinds that are not the library's own.
    func kind(ofProvider name: String) -> String { directory.kind(of: name) ?? "provider" }
}
