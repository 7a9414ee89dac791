/// Keeps answers for after a restart, or for other processes: see ``HTTPDNSDiskStore``.
///
/// A store is an optional copy and never in the way: a resolver loads it once when it starts, saves to it now and then, and
/// goes on without it when it is slow, empty or broken. What it holds is checked again before it is used: the address
/// policy holds for it, and so do the limits of the cache.
public protocol HTTPDNSResolutionStore: Sendable {
    /// All answers that were saved last; none when nothing was saved yet. In no particular order.
    /// - Throws: ``HTTPDNSResolutionStoreError`` when what was saved cannot be read or cannot be trusted as a whole, and
    ///   `CancellationError`.
    func load() async throws -> [HTTPDNSStoredResolution]

    /// Replaces everything that was saved before. A store that has limits keeps the answers that were received last.
    ///
    /// After an error the earlier contents are still there, or the new ones are; never a part of them.
    /// - Throws: ``HTTPDNSResolutionStoreError``, and `CancellationError`; what was begun may still be completed then.
    func save(_ resolutions: [HTTPDNSStoredResolution]) async throws
}
