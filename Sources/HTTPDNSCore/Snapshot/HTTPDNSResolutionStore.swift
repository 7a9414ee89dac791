/// A store that keeps answers across restarts, or for other processes: see ``HTTPDNSDiskStore``.
///
/// A store is an optional copy, and no request depends on it. A resolver loads it once when it starts, saves to it at
/// intervals, and continues without it when it is slow, empty or broken. Its contents are checked again before they are used:
/// the address policy and the limits of the cache apply to them.
public protocol HTTPDNSResolutionStore: Sendable {
    /// Returns all answers that were saved last, in no particular order; none when nothing was saved yet.
    /// - Throws: ``HTTPDNSResolutionStoreError`` when the contents cannot be read or cannot be trusted as a whole, and
    ///   `CancellationError`.
    func load() async throws -> [HTTPDNSStoredResolution]

    /// Replaces the earlier contents. A store with limits keeps the answers that were received last.
    ///
    /// After an error the store has the earlier contents or the new ones, never a part of them.
    /// - Throws: ``HTTPDNSResolutionStoreError``, and `CancellationError`. A save that has begun may still complete then.
    func save(_ resolutions: [HTTPDNSStoredResolution]) async throws
}
