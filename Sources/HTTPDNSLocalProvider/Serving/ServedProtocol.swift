#if LocalProvider
/// A protocol that is served: a value without state.
protocol ServedProtocol: Sendable {
    /// The name of the protocol in the log.
    var name: String { get }

    /// Checks and answers a query.
    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply

    /// Returns the protocol's reply to a refused query.
    func reply(to refusal: Refusal, _ inquiry: ServedQuery) -> ServedReply
}

extension ServedProtocol {
    /// Returns a line of text.
    func reply(to refusal: Refusal, _ inquiry: ServedQuery) -> ServedReply {
        ServedReply(status: refusal.status, text: "\(refusal.word): \(refusal.advice)\n")
    }
}
#endif
