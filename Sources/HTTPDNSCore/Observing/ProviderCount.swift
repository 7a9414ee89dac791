/// What happens to one provider. A query ends with exactly one of ``answer``, ``negative``, ``cancelled`` and a failure,
/// which is counted by its code.
package enum ProviderCount: Int, CaseIterable, Sendable {
    /// It was asked.
    case query
    /// It gave addresses.
    case answer
    /// It said that the name, or an address of it, does not exist.
    case negative
    /// Its answer was not waited for: another provider was faster, or nobody wants it any more.
    case cancelled
    /// It was asked because one before it was slow.
    case hedge
    /// It was asked to see whether it is well again.
    case probe
}
