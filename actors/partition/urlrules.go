package partition

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"henro/actors/protocol"
	"henro/actors/urlrules"
	"henro/store"
)

// URLRulesOf reads the URL rules of one host as they are on disk.
func URLRulesOf(disk *store.Partition, name string) (rules urlrules.Set, err error) {
	b, err := disk.Meta(urlRulesMeta(store.IDOf(name)))
	if err == nil {
		err = rules.UnmarshalBinary(b)
	}
	if err != nil {
		err = fmt.Errorf("URL rules of %s: %w", name, err)
	}
	return rules, err
}

// EachURLRules calls fn for all hosts of a partition of which URL rules are known.
func EachURLRules(disk *store.Partition, fn func(host string, rules *urlrules.Set)) error {
	const prefix = "urlrules/"
	known := map[uint64]*urlrules.Set{}
	if err := disk.EachMeta(prefix, func(meta string, value []byte) error {
		id, err := strconv.ParseUint(strings.TrimPrefix(meta, prefix), 16, 64)
		known[id] = &urlrules.Set{}
		if err = errors.Join(err, known[id].UnmarshalBinary(value)); err != nil {
			return fmt.Errorf("%s: %w", meta, err)
		}
		return nil
	}); err != nil {
		return err
	}
	for id, rules := range known {
		record, err := disk.Host(store.HostID(id))
		if err != nil {
			return fmt.Errorf("host of URL rules: %w", err)
		}
		fn(record.Name, rules)
	}
	return nil
}

// FormOf reads which page of a host was visited under a key; nil: none was.
func FormOf(disk *store.Partition, host store.HostID, key uint64) (*urlrules.Form, error) {
	b, err := disk.Meta(formMeta(host, key))
	if err != nil || b == nil {
		return nil, err
	}
	form := &urlrules.Form{}
	if err := form.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("form %016x of a page: %w", key, err)
	}
	return form, nil
}

// writeURLRules adds the rules and forms of a host to the batch.
func (p *Partition) writeURLRules(m *protocol.Write) {
	if m.URLRules != nil {
		p.batch.PutMeta(urlRulesMeta(m.Host.ID), m.URLRules)
	}
	for _, form := range m.Forms {
		var value []byte
		if form.Form != nil {
			value, _ = form.MarshalBinary() // never fails
		}
		p.batch.PutMeta(formMeta(m.Host.ID, form.Key), value)
	}
}

// formsOf finds the forms of pages that wait or are due.
func (p *Partition) formsOf(host store.HostID, keys *urlrules.Keys, waiting, due []store.Entry,
) map[string]urlrules.Form {
	forms := map[string]urlrules.Form{}
	waiting = slices.Concat(waiting, due)
	for i := range waiting {
		page := &waiting[i].Page
		if page.Flags.Embedded() > 0 {
			continue
		}
		form, err := FormOf(p.disk, host, keys.Of(page.URL))
		if err != nil {
			panic(fmt.Errorf("look for %s under another form: %w", page.URL, err))
		}
		if form != nil {
			forms[string(waiting[i].Position)] = *form
		}
	}
	return forms
}

// urlRulesMeta is where the URL rules of a host are kept, in its partition.
func urlRulesMeta(host store.HostID) string { return fmt.Sprintf("urlrules/%016x", uint64(host)) }

// formMeta is where a page of a host is kept that was visited, by the fingerprint of its URL or of its key.
func formMeta(host store.HostID, key uint64) string {
	return fmt.Sprintf("form/%016x/%016x", uint64(host), key)
}
