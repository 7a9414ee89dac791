#if LocalProvider
/// A protocol that is served: a value without state.
protocol ServedProtocol: Sendable {
    /// The word for it in the log.
    var name: String { get }

    /// Checks and answers a query.
    func reply(to request: ServedRequest, _ inquiry: inout Inquiry) throws(Refusal) -> ServedReply

    /// How the protocol says no.
    func reply(to refusal: Refusal, _ inquiry: Inquiry) -> ServedReply
}

extension ServedProtocol {
    /// A line of text.
    func reply(to refusal: Refusal, _ inquiry: Inquiry) -> ServedReply {
        ServedReply(status: refusal.status, text: "\(refusal.word): \(refusal.advice)\n")
    }
}
#endif
