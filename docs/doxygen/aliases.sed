# Classes that programs use are names of templates: they are looked for in the list of classes.
s#^using ([A-Z][A-Za-z]+) = ((Basic|Persistent)[A-Za-z]+<.*>);$#class \1 : public \2 {};#
