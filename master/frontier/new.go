package frontier

// New makes an empty frontier.
func New[K comparable](o Options) (Frontier[K], error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	switch o.Policy {
	case PolicyFIFO:
		return NewFIFO[K](o), nil
	case PolicyMercator:
		return NewMercator[K](o), nil
	case PolicyIRLbot:
		return NewIRLbot[K](o), nil
	case PolicySlots:
		return NewSlots[K](o), nil
	case PolicyRanked:
		return NewRanked[K](o), nil
	default:
		return NewHost[K](o), nil
	}
}
