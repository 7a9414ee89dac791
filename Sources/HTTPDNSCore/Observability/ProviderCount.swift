/// The counts of one provider. A query ends with exactly one of ``answer``, ``negative``, ``cancelled`` and a failure, which is
/// counted by its code.
package enum ProviderCount: Int, CaseIterable, Sendable {
    /// A query was sent.
    case query
    /// It returned addresses.
    case answer
    /// It reported that the name, or an address of it, does not exist.
    case negative
    /// Its answer was not needed any more: another provider was faster, or there were no waiters left.
    case cancelled
    /// A query was sent because an earlier provider was slow.
    case hedge
    /// A query was sent to check whether the provider has recovered.
    case probe
}
